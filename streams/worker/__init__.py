"""The Faust worker: from the messages of the input topics to acknowledged documents."""
