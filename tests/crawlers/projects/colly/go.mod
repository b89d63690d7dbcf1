module crawl

go 1.26

require (
	github.com/gocolly/colly/v2 v2.3.0
	github.com/twmb/franz-go v1.22.2
)

