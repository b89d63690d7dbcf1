"""Objects that lie elsewhere: in S3, Google Cloud Storage or Azure, and on web servers, read in ranges."""
