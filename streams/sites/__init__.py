"""What is known of a site by the pages of it that were counted: its texts and structures."""
