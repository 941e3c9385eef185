package detect

// A tokenRule is a row of the table of tokens: each prefix with each form of the rest, as [forms.read] reads them.
type tokenRule struct {
	rule, prefixes, forms string
	entropy               float64
	check                 func(rest string) (score float64, ok bool)
}

// The alphabets of most tokens.
const (
	letters = "[A-Za-z0-9]"
	url64   = "[A-Za-z0-9_-]"
	low16   = "[a-f0-9]"
	any16   = "[A-Fa-f0-9]"
	low32   = "[a-z0-9]"
	// routable is the end of GitLab's tokens that say where to send them, with a version or without.
	routable = url64 + "{27,300}.[a-z0-9]{9} " + url64 + "{27,300}.[a-z0-9]{2}.[a-z0-9]{7,9}"
	uuidAny  = "[A-Fa-f0-9]{8}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{12}"
)

// tokenRules is the forms of tokens with prefixes: of clouds and platforms, of code hosting and packages, of models,
// of messages and payments, and of the rest. Sources are the providers' documentation and secret scanning pages.
func tokenRules() []tokenRule {
	var all []tokenRule
	for _, table := range [][]tokenRule{cloudForms, codeForms, modelForms, messageForms, paymentForms, otherForms} {
		all = append(all, table...)
	}
	return all
}

var cloudForms = []tokenRule{
	{"aws-access-key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}", 2.7, nil},
	{"aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS", "[A-Za-z0-9+/]{109,269} [A-Za-z0-9+/]{109,269}= [A-Za-z0-9+/]{109,269}==", 3, nil},
	{"aws-bedrock-key", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", "[A-Za-z0-9+/=_-]{0,4000}", 0, nil},
	{gcpKey, "AIza", url64 + "{35}", 3, nil},
	{"gcp-oauth-secret", "GOCSPX-", url64 + "{28}", 3, nil},
	{"gcp-refresh-token", "1//0", url64 + "{40,120}", 3.5, nil},
	{"gcp-access-token", "ya29.", url64 + "{30,2000}", 3.5, nil},
	{"alibaba-access-key", "LTAI", letters + "{17,21}", 3, digits},
	{"digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", low16 + "{64}", 3, nil},
	{"cloudflare-origin-ca", "v1.0-", low16 + "{24}-" + low16 + "{146}", 2, nil},
	{"cloudflare-token", "cfut_ cfat_ cfk_", letters + "{40}" + low16 + "{8}", 3, nil},
	{"yandex-token", "t1.", "[A-Za-z0-9_-]{1,16}[.=][A-Za-z0-9_-]{80,200}[=]{0,2}", 3, nil},
	{"yandex-token", "y0_ AQVN YCAJ YCM YCN YCO YCP", url64 + "{35,60}", 3.5, digits},
	{"flyio-token", "fo1_", url64 + "{43}", 3, nil},
	{"flyio-token", "fm1r_ fm1a_ fm2_", "[A-Za-z0-9+/]{80,600}[=]{0,3}", 3, nil},
	{"heroku-key", "HRKU-", "AA" + url64 + "{58} " + uuidAny, 3, nil},
	{"vercel-token", "vcp_ vci_ vca_ vcr_ vck_", url64 + "{56}", 3, nil},
	{"netlify-token", "nfp_ nfc_ nfo_ nfu_", letters + "{36}", 3, nil},
	{"supabase-key", "sbp_", "[a-z0-9_-]{40}", 3, digits},
	{"supabase-key", "sb_secret_", url64 + "{31}", 3, nil},
	{"scalingo-token", "tk-us-", url64 + "{48}", 3, nil},
	{"vault-token", "hvs. hvb. hvr.", url64 + "{90,300}", 3, nil},
	{"vault-token", "s.", letters + "{24}", 3.3, mixed},
	{"pulumi-token", "pul-", low16 + "{40}", 3, nil},
	{"doppler-token", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", letters + "{40,44}", 3, nil},
	{"doppler-token", "dp.st.", "[a-z0-9_-]{2,35}." + letters + "{40,44} " + letters + "{40,44}", 3, nil},
	{"databricks-token", "dapi", low16 + "{32} " + low16 + "{32}-[0-9]", 3, nil},
	{"openshift-token", "sha256~", url64 + "{43}", 3.5, nil},
	{"age-secret-key", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", 0, nil},
	{"1password-secret-key", "A3-", "[A-Z0-9]{6}-[A-Z0-9]{11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5} [A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}", 3.3, nil},
	{"1password-service-account", "ops_eyJ", "[A-Za-z0-9+/]{250,4000}[=]{0,3}", 4, nil},
	{"clickhouse-cloud-key", "4b1d", letters + "{38}", 3, mixed},
	{"planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_.=-]{32,64}", 3, nil},
	{"prefect-token", "pnu_ pnb_", letters + "{36}", 3, nil},
	{"defined-networking-token", "dnkey-", "[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}", 3, nil},
	{"dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", "[A-Za-z0-9]{24}.[A-Za-z0-9]{64} [A-Z0-9]{8}.[A-Z0-9]{64}", 3, nil},
	{"azure-signature", "sig=", "[A-Za-z0-9%+/]{46,72}", 3.5, endsEqual},
	{"aws-mws-key", "amzn.mws.", uuidAny, 2.5, nil},
	{"tencent-secret-id", "AKID", letters + "{32}", 3.5, mixed},
	{"docker-swarm-token", "SWMTKN-1-", low32 + "{49,51}-" + low32 + "{25}", 3, nil},
	{"vault-token", "b.AAAAAQ", url64 + "{100,300}", 3.5, nil},
	{"render-key", "rnd_", letters + "{28,40}", 3.5, mixed},
	{"runpod-key", "rpa_", letters + "{30} " + letters + "{40,46}", 3.5, nil},
	{"zuplo-key", "zpka_", low16 + "{32}_" + low16 + "{8}", 3, nil},
	{"aws-session-access-key", "A3T", "[A-Z0-9][A-Z2-7]{16}", 2.7, nil},
	{"aws-signature", "X-Amz-Signature=", low16 + "{64}", 3, nil},
	{"terraform-token", "atlasv1.", "[A-Za-z0-9_=-]{60,70}", 3.5, nil},
	{"cockroach-key", "CCDB1_", letters + "{22}_" + letters + "{40}", 3.5, nil},
	{"elastic-cloud-key", "essu_", "[A-Za-z0-9_-]{60,200}[=]{0,2}", 3.5, nil},
	{"exoscale-key", "EXO", letters + "{24,30}", 3.3, digits},
	{"mongodb-atlas-secret", "mdb_sa_sk_", url64 + "{40}", 3, nil},
	{"upcloud-token", "ucat_", letters + "{24,32}", 3, nil},
	{"deno-token", "ddp_", letters + "{36}", 3.5, nil},
	{"databricks-secret", "dose", low16 + "{32}", 3, nil},
	{"datastax-token", "AstraCS:", letters + "{24}:" + low16 + "{64} " + letters + "{20,80}", 3.5, nil},
	{"snowflake-token", "ver:1-hint:", "[0-9]{4,20}-[A-Za-z0-9+/=]{60,600}", 3.5, nil},
	{"castai-key", "castai_v1_", low32 + "{64}_" + low32 + "{8}", 3, nil},
	{"aiven-password", "AVNS_", url64 + "{15,30}", 3.3, mixed},
	{"unkey-key", "unkey_", letters + "{20,32}", 3.5, mixed},
	{"val-town-token", "vtwn_", url64 + "{20,80}", 3.5, mixed},
	{"authress-access-key", "sc_ ext_ scauth_ authress_", "[A-Za-z0-9]{5,30}.[A-Za-z0-9]{4,6}.acc[A-Za-z0-9_-]{10,32}.[A-Za-z0-9+/_=-]{30,120}", 2, nil},
}

var codeForms = []tokenRule{
	{"github-token", "ghp_ gho_ ghu_ ghs_ ghr_", letters + "{36,255}", 3, githubSum},
	{"github-token", "github_pat_", "[A-Za-z0-9_]{82}", 3, nil},
	{"gitlab-token", "glpat- gldt- glft- glsoat- glffct- glimt-", url64 + "{20,27} " + routable, 3, nil},
	{"gitlab-token", "glrt-", url64 + "{20} t[0-9]_" + url64 + "{20,24} " + routable, 3, nil},
	{"gitlab-token", "glimt-", url64 + "{25}", 3, nil},
	{"gitlab-token", "glptt-", low16 + "{40}", 3, nil},
	{"gitlab-token", "glcbt-", "[A-Za-z0-9]{1,5}_" + url64 + "{20}", 3, nil},
	{"gitlab-token", "glagent-", url64 + "{50}", 3, nil},
	{"gitlab-token", "gloas-", url64 + "{64}", 3, nil},
	{"gitlab-token", "GR1348941", url64 + "{20}", 3, nil},
	{"gitlab-session", "_gitlab_session=", "[a-z0-9]{32}", 3, nil},
	{"npm-token", "npm_", letters + "{36}", 3, nil},
	{"pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZ", url64 + "{50,1000}", 3, nil},
	{"rubygems-token", "rubygems_", low16 + "{48}", 3, nil},
	{"clojars-token", "CLOJARS_", low32 + "{60}", 3, nil},
	{"nuget-key", "oy2", low32 + "{43}", 3.5, nil},
	{"docker-token", "dckr_pat_ dckr_oat_", url64 + "{27,32}", 3, nil},
	{"jfrog-key", "AKCp", letters + "{69}", 4, nil},
	{"jfrog-reference-token", "cmVmd", letters + "{59}", 4, nil},
	{"atlassian-token", "ATATT3 ATCTT3", "[A-Za-z0-9_=-]{180,300}", 3.5, nil},
	{"bitbucket-token", "ATBB", letters + "{32}", 3.5, nil},
	{"bitbucket-token", "BBDC-", "[A-Za-z0-9+/]{44}", 3.5, nil},
	{"crates-token", "cio", letters + "{32}", 3.5, mixed},
	{"mergify-key", "mergify_application_key_", url64 + "{40,200}", 3.2, nil},
	{"linear-key", "lin_api_", letters + "{40}", 2, nil},
	{"linear-key", "lin_oauth_", low16 + "{64}", 3, nil},
	{"postman-key", "PMAK-", low16 + "{24}-" + low16 + "{34}", 3, nil},
	{"sonar-token", "squ_ sqp_ sqa_", letters + "{40}", 3, nil},
	{"sourcegraph-token", "sgp_", any16 + "{40} local_" + any16 + "{40} " + any16 + "{16}_" + any16 + "{40}", 3, nil},
	{"sentry-token", "sntrys_", "[A-Za-z0-9]{20,600}[=]{0,2}_[A-Za-z0-9+/]{43}", 4, sentryJSON},
	{"sentry-token", "sntryu_", low16 + "{64}", 3, nil},
	{"harness-key", "pat. sat.", url64 + "{22}.[a-zA-Z0-9]{24}.[a-zA-Z0-9]{20}", 3, nil},
	{"octopus-key", "API-", "[A-Z0-9]{26}", 3, digits},
	{"configcat-key", "configcat-sdk-1/", url64 + "{22}/" + url64 + "{22}", 3, nil},
	{"aikido-key", "AIK_CI_ AIK_SECRET_", letters + "{20,64}", 3, digits},
	{"endor-key", "endr+", "[A-Za-z0-9-]{16}", 3, nil},
	{"devin-key", "apk_user_ apk_", "[A-Za-z0-9+/]{80,180}[=]{0,2}", 3.5, nil},
	{"devin-key", "cog_", "[a-z2-7]{52}", 3.5, nil},
	{"readme-key", "rdme_", low32 + "{70}", 3, nil},
	{"snyk-token", "snyk_uat. snyk_sat.", low16 + "{8}.eyJ" + url64 + "{15,2000}", 3, nil},
	{"infracost-key", "ico-", letters + "{32}", 3.3, mixed},
	{"settlemint-token", "sm_pat_ sm_aat_ sm_sat_", letters + "{16}", 3, nil},
	{"launchdarkly-key", "sdk- mob- api-", "[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}", 2.5, nil},
	{"figma-token", "figd_ figdr_ figoh_ figor_", url64 + "{36,64}", 3, nil},
	{"grafana-key", "eyJrIjoi", "[A-Za-z0-9+/]{70,400}[=]{0,3}", 3, nil},
	{"grafana-token", "glc_", "[A-Za-z0-9+/]{32,400}[=]{0,3}", 3, digits},
	{"grafana-token", "glsa_", letters + "{32}_" + any16 + "{8}", 3, nil},
	{"buildkite-token", "bkua_ bkpi_", low16 + "{40}", 3, nil},
	{"circleci-token", "CCIPAT_ CCIPRJ_", letters + "{22}_" + low16 + "{40}", 3, nil},
}
