"""From HTML to labelled blocks to text; knows neither Kafka nor Redis."""
