"""Names of months in many languages, in full and short, as `folding.fold` leaves them.

Written by `python -m codegen` from the Unicode CLDR (Unicode License v3).
"""

NAMES = (
    """
    ene enero gen gener genier gennaio ianuarie ionawr jaan jaanuar jan janar janeiro jannar janner
    jannewaris januar januara januari januarie january januwari janv janvaris janvier leden ledna oca
    ocak saus sausio sausis sij sijecanj sijecnja sty styczen stycznia tammi tammikuu tammikuuta
    urtarrila xaneiro yan yanvar yanwar ιαν ιανουαριοσ ιανουαριου сту студзень студзеня січ січень січня
    янв январ январь января яну януари јан јануар јануари қаң қаңтар հնվ հունվար հունվարի בינואר ינואר
    ינו׳ جانفی جنوری ژانویه کانون_الثانی ینایر जनवरी जन॰ जाने जानेवारी জানু জানুয়ারী ਜਨ ਜਨਵਰੀ જાન્યુ
    જાન્યુઆરી ஜன ஜனவரி జన జనవరి ಜನ ಜನವರಿ ജനു ജനുവരി ජන ජනවාරි ม.ค มกราคม ມ.ກ ມັງກອນ ဇန် ဇန်နဝါရီ იან
    იანვარი ጃን ጃንዋሪ មករា
    """,
    """
    chwef chwefror feb febbraio feber febr febreiro febrer febrero febrewaris febrier februar februara
    februari februarie februaris february februwari fev fevereiro fevr fevral fevrier fewral frar helmi
    helmikuu helmikuuta lut lutego luty otsaila pebrero shkurt sub subat unor unora vasario vasaris veebr
    veebruar velj veljaca veljace φεβ φεβρουαριοσ φεβρουαριου ақп ақпан лют лютага лютии лютого люты феб
    фебруар фев февр феврал февраль февраля февруари փետրվար փետրվարի փտվ בפברואר פברואר פבר׳ شباط فبرایر
    فبروری فروری فوریه فیفری فېبروری फ़रवरी फ़र॰ फेब्रु फेब्रुअरी फेब्रुवारी ফেব ফেব্রুয়ারী ਫ਼ਰ ਫ਼ਰਵਰੀ
    ફેબ્રુ ફેબ્રુઆરી பிப் பிப்ரவரி ఫిబ్ర ఫిబ్రవరి ಫೆಬ್ರ ಫೆಬ್ರವರಿ ഫെബ്രു ഫെബ്രുവരി පෙබ පෙබරවාරි ก.พ
    กุมภาพันธ์ ກ.ພ ກຸມພາ ဖေ ဖေဖော်ဝါရီ თებ თებერვალი ፌብ ፌብሩዋሪ កុម្ភៈ
    """,
    """
    brezen brezna kovas kovo maalis maaliskuu maaliskuuta maart machi maerz mar marc marca march marcius
    marco marec maret mars marso mart martie marts martxoa marz marzec marzo marzu mashi mawrth mrt ozu
    ozujak ozujka μαρ μαρτιοσ μαρτιου бер березень березня мар март марта нау наурыз сак сакавік сакавіка
    մարտ մարտի մրտ במרץ מרץ اذار مارس مارچ मार्च মার্চ ਮਾਰਚ માર્ચ மார் மார்ச் మార్చి ಮಾರ್ಚ್ മാർ മാർച്ച്
    මාර් මාර්තු มี.ค มีนาคม ມ.ນ ມີນາ မတ် მარ მარტი ማርች មីនា
    """,
    """
    abr abrell abril apirila apr aprel april aprila aprile aprili aprilie aprilis aprill avr avril
    balandis balandzio duben dubna ebrill ephreli huhti huhtikuu huhtikuuta kwi kwiecien kwietnia nis
    nisan prill tra travanj travnja απρ απριλιοσ απριλιου апр апрел апрель апреля април квіт квітень
    квітня кра красавік красавіка сәу сәуір ապր ապրիլ ապրիլի אפריל אפר׳ באפריל ابریل افریل اوریل اپریل
    نیسان अप्रिल अप्रैल एप्रि एप्रिल এপ্রি এপ্রিল ਅਪ੍ਰੈ ਅਪ੍ਰੈਲ એપ્રિલ ஏப் ஏப்ரல் ఏప్రి ఏప్రిల్ ಏಪ್ರಿ
    ಏಪ್ರಿಲ್ ഏപ്രി ഏപ്രിൽ අප්රේල් เม.ย เมษายน ມ.ສ ເມສາ ဧပြီ აპრ აპრილი ኤፕሪ ኤፕሪል មេសា
    """,
    """
    geguze geguzes kveten kvetna maaie mag maggio mai maiatza maig maijs maio maj maja majus may mayis
    mayo mei mejju meyi svi svibanj svibnja touko toukokuu toukokuuta μαι μαιοσ μαιου маи мам мамыр мая
    мај трав травень травня մայիս մայիսի մյս במאי מאי ایار مای مایو مه میی مۍ मई मे মে ਮਈ મે மே మే ಮೇ
    മേയ് මැයි พ.ค พฤษภาคม ພ.ພ ພຶດສະພາ မေ მაი მაისი ሜይ ឧសភា
    """,
    """
    birz birzelio birzelis cerven cervna cze czerwca czerwiec ekaina giu giugno gunju haz haziran hunyo
    iunie iyn iyun juin jun juna june junh junho juni junie junij junijs junio junius juny juuni kesa
    kesakuu kesakuuta lipanj lipnja mehefin qershor xuno ιουν ιουνιοσ ιουνιου июн июнь июня мау маусым
    черв червень червня чэр чэрвень чэрвеня юни јун јуни հնս հունիս հունիսի ביוני יוני جوان جون حزیران
    ژوین یونیو जुन जून জুন ਜੂਨ જૂન ஜூன் జూన్ ಜೂನ್ ജൂൺ ජූනි มิ.ย มิถุนายน ມິ.ຖ ມິຖຸນາ ဇွန် ივნ ივნისი ጁን
    មិថុនា
    """,
    """
    cervence cervenec gorff gorffennaf heina heinakuu heinakuuta hulyo iulie iyl iyul juil juill juillet
    jul jula julai julayi julhet julho juli julie julij julijs julio juliol julius july juuli korr korrik
    liep liepa liepos lipca lipiec lug luglio lulju srp srpanj srpnja tem temmuz uztaila xullo ιουλ
    ιουλιοσ ιουλιου июл июль июля лип липень липня ліп ліпень ліпеня шіл шілде юли јул јули հլս հուլիս
    հուլիսի ביולי יולי تموز جولای جولایی جویلیة ژوییه یولیو یولیوز जुलाई जुलै जुल॰ জুল জুলাই ਜੁਲਾ ਜੁਲਾਈ
    જુલાઈ ஜூலை జులై ಜುಲೈ ജൂലൈ ජූලි ก.ค กรกฎาคม ກ.ລ ກໍລະກົດ ဇူ ဇူလိုင် ივლ ივლისი ጁላይ កក្កដា
    """,
    """
    abuztua agasti ago agost agosti agosto agu agust agustos agustus aout aug august augusta augusti
    augusts augustus augusztus avgust avq avqust awgust awst awwissu elokuu elokuuta gush gusht kol
    kolovoz kolovoza ogos rugp rugpjucio rugpjutis sie sierpien sierpnia srpen srpna αυγ αυγουστοσ
    αυγουστου авг август августа жні жнівень жніуня серп серпень серпня там тамыз օգոստոս օգոստոսի օգս
    אוגוסט אוג׳ באוגוסט اب اغسطس اغشت اوت اګست اگست غشت अगस्ट अगस्त अग॰ ऑग ऑगस्ट আগ আগস্ট ਅਗ ਅਗਸਤ ઑગસ્ટ
    ஆக ஆகஸ்ட் ఆగ ఆగస్టు ಆಗ ಆಗಸ್ಟ್ ഓഗ ഓഗസ്റ്റ് අගෝ අගෝස්තු ส.ค สิงหาคม ສ.ຫ ສິງຫາ ဩဂုတ် აგვ აგვისტო ኦገስ
    ኦገስት សីហា
    """,
    """
    eyl eylul iraila medi rugs rugsejis rugsejo ruj rujan rujna sen sentabr sentyabr sep sept septemba
    septembar september septembra septembre septembrie septembris septhemba septiembre septimber set
    setembre setembro setiembre settembre settembru setyembre shtator syys syyskuu syyskuuta szept
    szeptember wrz wrzesien wrzesnia zari σεπ σεπτεμβριοσ σεπτεμβριου вер верасень верасня вересень
    вересня сен сент сентябр сентябрь сентября сеп септембар септември қыр қыркүиек սեպ սեպտեմբեր
    սեպտեմբերի בספטמבר ספטמבר ספט׳ ایلول سبتمبر ستمبر سپتامبر سپتمبر سېپتمبر شتمبر شتنبر सप्टें सप्टेंबर
    सितंबर सित॰ सेप्टेम्बर সেপ সেপ্টেম্বর ਸਤੰ ਸਤੰਬਰ સપ્ટે સપ્ટેમ્બર செப் செப்டம்பர் సెప్టెం సెప్టెంబర్
    ಸೆಪ್ಟೆಂ ಸೆಪ್ಟೆಂಬರ್ സെപ്റ്റം സെപ്റ്റംബർ සැප් සැප්තැම්බර් ก.ย กันยายน ກ.ຍ ກັນຍາ စက် စက်တင်ဘာ სექ
    სექტემბერი ሴፕቴ ሴፕቴምበር កញ្ញា
    """,
    """
    eki ekim hydref loka lokakuu lokakuuta oct october octobre octombrie octubre okt oktabr okthoba
    oktoba oktobar oktober oktobra oktobris oktoober oktubre oktyabr ott ottobre ottubru out outubro paz
    pazdziernik pazdziernika rijen rijna spal spalio spalis tetor urria οκτ οκτωβριοσ οκτωβριου жовт
    жовтень жовтня кас кастрычнік кастрычніка окт октобар октомври октябр октябрь октября қаз қазан հոկ
    հոկտեմբեր հոկտեմբերի אוקטובר אוק׳ באוקטובר اکتبر اکتوبر تشرین_الاول अक्टूबर अक्टू॰ अक्टोबर ऑक्टो
    ऑक्टोबर অক্টো অক্টোবর ਅਕਤੂ ਅਕਤੂਬਰ ઑક્ટો ઑક્ટોબર அக் அக்டோபர் అక్టో అక్టోబర్ ಅಕ್ಟೋ ಅಕ್ಟೋಬರ್
    ഒക്ടോ ഒക്ടോബർ ඔක් ඔක්තෝබර් ต.ค ตุลาคม ຕ.ລ ຕຸລາ အောက် အောက်တိုဘာ ოქტ ოქტომბერი ኦክቶ ኦክቶበር តុលា
    """,
    """
    azaroa kas kasim lapkr lapkricio lapkritis listopadu marras marraskuu marraskuuta nentor nobyembre
    noiembrie nov novemba novembar november novembra novembre novembris novembro novembru noviembre
    novimber noy noyabr stu studeni studenoga tach tachwedd νοε νοεμβριοσ νοεμβριου лист листопад
    листопада ліс лістапад лістапада нов новембар ное ноември ноя нояб ноябр ноябрь ноября қар қараша նոյ
    նոյեմբեր նոյեմբերի בנובמבר נובמבר נוב׳ تشرین_الثانی نوامبر نوفمبر نومبر نونبر नवंबर नव॰ नोभेम्बर
    नोव्हें नोव्हेंबर নভে নভেম্বর ਨਵੰ ਨਵੰਬਰ નવે નવેમ્બર நவ நவம்பர் నవం నవంబర్ ನವೆಂ ನವೆಂಬರ್ നവം നവംബർ
    නොවැ නොවැම්බර් พ.ย พฤศจิกายน ພ.ຈ ພະຈິກ နို နိုဝင်ဘာ ნოე ნოემბერი ኖቬም ኖቬምበር វិច្ឆិកា
    """,
    """
    abendua ara aralik dec decembar december decembra decembre decembrie decembris decembro dek dekabr
    des desemba desember desembre desimber dets detsember dez dezember dezembro dhjetor dic dicembre
    dicembru diciembre disemba disember disyembre gru grudnia grudzien gruod gruodis gruodzio joulu
    joulukuu joulukuuta pro prosinac prosinca prosince prosinec rhag rhagfyr δεκ δεκεμβριοσ δεκεμβριου
    груд грудень грудня дек декабр декабрь декабря декември дец децембар жел желтоқсан сне снежань снежня
    դեկ դեկտեմբեր դեկտեմբերի בדצמבר דצמבר דצמ׳ دجمبر دجنبر دسامبر دسمبر دیسمبر کانون_الاول डिसें डिसेंबर
    डिसेम्बर दिसंबर दिस॰ ডিসে ডিসেম্বর ਦਸੰ ਦਸੰਬਰ ડિસે ડિસેમ્બર டிச டிசம்பர் డిసెం డిసెంబర్ ಡಿಸೆಂ ಡಿಸೆಂಬರ್
    ഡിസം ഡിസംബർ දෙසැ දෙසැම්බර් ธ.ค ธันวาคม ທ.ວ ທັນວາ ဒီ ဒီဇင်ဘာ დეკ დეკემბერი ዲሴም ዲሴምበር ធ្នូ
    """,
)
"""Names that mean the same month wherever they are used, from January on."""
AMBIGUOUS = {
    "lip": {"hr": 6, "pl": 7},
    "lis": {"hr": 10, "pl": 11},
    "listopad": {"hr": 10, "cs": 11, "pl": 11},
    "listopada": {"hr": 10, "pl": 11},
}
"""Names that mean different months: the month in each language."""
