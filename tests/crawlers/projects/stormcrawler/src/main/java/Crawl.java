import com.digitalpebble.stormcrawler.bolt.FetcherBolt;
import com.digitalpebble.stormcrawler.bolt.JSoupParserBolt;
import com.digitalpebble.stormcrawler.indexing.DummyIndexer;
import com.digitalpebble.stormcrawler.persistence.MemoryStatusUpdater;
import com.digitalpebble.stormcrawler.spout.MemorySpout;
import com.digitalpebble.stormcrawler.util.ConfUtils;
import java.io.InputStream;
import java.util.Map;
import org.apache.storm.LocalCluster;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;
import org.yaml.snakeyaml.Yaml;

/** Crawls from a URL on a Storm of its own until it is killed: Crawl URL BROKERS. */
public class Crawl {
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("spout", new MemorySpout(arguments[0]));
        builder.setBolt("fetch", new FetcherBolt()).shuffleGrouping("spout");
        builder.setBolt("pages", new PageBolt(arguments[1])).localOrShuffleGrouping("fetch");
        builder.setBolt("parse", new JSoupParserBolt()).localOrShuffleGrouping("fetch");
        builder.setBolt("index", new DummyIndexer()).localOrShuffleGrouping("parse");
        builder.setBolt("status", new MemoryStatusUpdater())
                .fieldsGrouping("fetch", "status", new Fields("url"))
                .fieldsGrouping("parse", "status", new Fields("url"))
                .fieldsGrouping("index", "status", new Fields("url"));

        InputStream defaults = Crawl.class.getResourceAsStream("/crawler-default.yaml");
        Map<String, Object> configuration = ConfUtils.extractConfigElement(new Yaml().load(defaults));
        configuration.put("http.agent.name", "dehusk");
        configuration.put("urlfilters.config.file", "urlfilters.json");
        configuration.put("fetcher.server.delay", 0.0);
        new LocalCluster().submitTopology("crawl", configuration, builder.createTopology());
        Thread.currentThread().join();
    }
}
