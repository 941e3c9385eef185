package detect

// providerTable is names of providers, the first of which names the rule, with the forms of their secrets. Lengths and
// alphabets are what the providers' documentation and consoles show.
func providerTable() [][2]string {
	const (
		hex20, hex24, hex32, hex37, hex40, hex64 = "[a-fA-F0-9]{20}", "[a-fA-F0-9]{24}", "[a-fA-F0-9]{32}", "[a-fA-F0-9]{37}", "[a-fA-F0-9]{40}", "[a-fA-F0-9]{64}"
		uuid                                     = "[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}"
		a14, a15, a16, a17, a20, a22             = "[A-Za-z0-9]{14}", "[A-Za-z0-9]{15}", "[A-Za-z0-9]{16}", "[A-Za-z0-9]{17}", "[A-Za-z0-9]{20}", "[A-Za-z0-9]{22}"
		a24, a25, a26, a28, a30, a32             = "[A-Za-z0-9]{24}", "[A-Za-z0-9]{25}", "[A-Za-z0-9]{26}", "[A-Za-z0-9]{28}", "[A-Za-z0-9]{30}", "[A-Za-z0-9]{32}"
		a36, a40, a45, a48, a50, a64             = "[A-Za-z0-9]{36}", "[A-Za-z0-9]{40}", "[A-Za-z0-9]{45}", "[A-Za-z0-9]{48}", "[A-Za-z0-9]{50}", "[A-Za-z0-9]{64}"
		u32, u40, u43, u50, u60, u64             = "[A-Za-z0-9_=-]{32}", "[A-Za-z0-9_=-]{40}", "[A-Za-z0-9_=-]{43}", "[A-Za-z0-9_=-]{50}", "[A-Za-z0-9_=-]{60}", "[A-Za-z0-9_=-]{64}"
	)
	join := func(forms ...string) (all string) {
		for _, form := range forms {
			all += form + " "
		}
		return all
	}
	return [][2]string{
		{"adafruit", u32},
		{"adobe", hex32},
		{"airtable", a17},
		{"algolia", a32},
		{"alibaba aliyun", a30},
		{"amplitude mixpanel segment", hex32},
		{"asana", join("[0-9]{16}", a32)},
		{"assemblyai elevenlabs", hex32},
		{"atlassian confluence jira", join(a20, a24)},
		{"aws amazon", "[A-Za-z0-9+/]{40}"},
		{"beamer", u60},
		{"binance", a64},
		{"bitbucket", join(a32, u64)},
		{"bittrex", a32},
		{"cisco meraki", hex40},
		{"circleci buildkite", hex40},
		{"cloudflare", join(hex37, u40)},
		{"codecov", join(a32, uuid)},
		{"cohere co_api", a40},
		{"coinbase", join(u64, a16, a32)},
		{"confluent", join(a16, a64, "[A-Za-z0-9+/]{64}")},
		{"contentful", u43},
		{"datadog", join(hex32, hex40, a40)},
		{"deepgram", hex40},
		{"discord", join(hex64, "[0-9]{17,19}", u32)},
		{"droneci drone", a32},
		{"dropbox", join(a15, "[A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_=-]{43}", "sl.[A-Za-z0-9_=-]{130,150}")},
		{"etsy", a24},
		{"etherscan", "[A-Z0-9]{34}"},
		{"facebook instagram", join(hex32, "[0-9]{15,16}[|%][A-Za-z0-9_-]{27,40}")},
		{"fastly", u32},
		{"finicity", join(hex32, a20)},
		{"finnhub", a20},
		{"flickr giphy", join(hex32, a32, hex40)},
		{"foursquare", a48},
		{"freshbooks", a64},
		{"gitter", u40},
		{"heroku", uuid},
		{"hubspot", uuid},
		{"intercom", u60},
		{"jenkins", "[a-f0-9]{32,34}"},
		{"jfrog artifactory bintray xray", join(a64, "[A-Za-z0-9]{73}")},
		{"kraken", join("[A-Za-z0-9_=+/-]{56}", "[A-Za-z0-9_=+/-]{80,90}")},
		{"kucoin", join(hex24, uuid)},
		{"launchdarkly", join(u40, uuid)},
		{"linear", hex32},
		{"linkedin", join(a14, a16)},
		{"looker", join(a20, a24)},
		{"mailchimp", "[a-f0-9]{32}-us[0-9]{1,2}"},
		{"mailgun", join("[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}", hex32)},
		{"mapbox mattermost", a26},
		{"maxmind", join(a16, u40)},
		{"messagebird message-bird message_bird", join(a25, uuid)},
		{"mistral groq", a32},
		{"netlify", "[A-Za-z0-9_=-]{40,46}"},
		{"new-relic newrelic new_relic", join(a64, hex40)},
		{"nytimes new-york-times", u32},
		{"okta", "00[A-Za-z0-9_=-]{40}"},
		{"opsgenie pinecone", uuid},
		{"pagerduty", "[A-Za-z0-9_+-]{20}"},
		{"plaid", join(a24, a30)},
		{"privateai", a32},
		{"rapidapi", u50},
		{"rollbar bugsnag", hex32},
		{"sendbird", join(uuid, hex40)},
		{"sentry", hex64},
		{"sidekiq contribsys", "[a-f0-9]{8}:[a-f0-9]{8}"},
		{"snyk", uuid},
		{"sonar sonarqube", a40},
		{"sourcegraph", hex40},
		{"spotify", hex32},
		{"squarespace", uuid},
		{"stripe", a32},
		{"sumo sumologic", join("su[A-Za-z0-9]{12}", a64)},
		{"telegram", "[0-9]{5,16}:[A-Za-z0-9_-]{35}"},
		{"travis travisci", join(a22, a20)},
		{"trello", join(hex32, hex64)},
		{"twilio", hex32},
		{"twitch", a30},
		{"twitter", join(a25, a45, a50, "[0-9]{15,25}-[A-Za-z0-9]{20,40}", "AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{80,100}")},
		{"typeform", "[A-Za-z0-9]{44}"},
		{"vercel", a24},
		{"vonage nexmo", join("[a-f0-9]{8}", a16)},
		{"weatherapi openweather", join(hex32, "[a-f0-9]{31}")},
		{"yandex", join("t1.[A-Z0-9a-z_-]{1,16}=[A-Za-z0-9_-]{86}=[0]{0,1}", "AQVN[A-Za-z0-9_-]{35,38}", "YC[A-Za-z0-9_-]{38}")},
		{"zendesk", a40},
		{"zoom", join(a22, a32)},
	}
}
