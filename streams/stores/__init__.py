"""Objects that lie elsewhere: in S3, in Google Cloud Storage, on web servers and on HDFS, read in ranges."""
