import static java.nio.charset.StandardCharsets.UTF_8;

import com.digitalpebble.stormcrawler.Metadata;
import java.time.Instant;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** The bolt of the docs' recipe, which stands where the comment is. */
public class PageBolt extends BaseRichBolt {
    private final String brokers;
    private transient OutputCollector collector;
    private transient KafkaProducer<String, byte[]> producer;

    public PageBolt(String brokers) {
        this.brokers = brokers;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        Map<String, Object> settings = Map.of("bootstrap.servers", brokers);
        this.producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer());
    }

    @Override
    public void execute(Tuple tuple) {
        /* recipe */
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {}
}
