package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// Names in code and sentences that forms of secrets come near to.
func TestNamesAreNoSecrets(t *testing.T) {
	md5, sha, uuid := random(61, 32, hex), random(62, 40, hex), "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	for _, text := range []string{
		"tss_tpm2_create_primary_sha256_v12", "pina_colada_with_coconut_cream_recipe",
		"api_live.get_order_history_for_account_v22", "sk_car_rental_reservation_dim",
		"Mid-server-upgrade-guide-2023",
		"vtwn_river_data_2024_readings", "dvc_server_config_v2_backup_2024",
		"persona_production_traffic_share_2023_11",
		"the segment " + md5 + " was uploaded to S3", "the drone " + md5 + " took off",
		"Heroku " + uuid + " crashed", "buildkite " + sha, "codecov " + uuid,
		"\"gitea\" = \"" + sha + "\"", "scaleway_project_id = \"" + uuid + "\"",
		"cloudinary_folder = \"user-uploads-profile-images\"",
		"honeycomb_dataset = \"productionfrontendlogs\"",
		"alphavantage_function = \"BALANCESHEETDATA\"",
		"signingKey = 3AA5C34371567BD2",
	} {
		require.Empty(t, detect.Secrets().Find(nil, text), text)
	}
}

// What says of a key or a password what it is for leaves it one.
func TestQualifiedNamesAreSecrets(t *testing.T) {
	value := random(63, 27, alnum)
	for _, name := range []string{
		"openai key: ", "stripe key: ", "hmac key: ", "recovery key: ", "your key: ",
		"ARTIFACT_REGISTRY_TOKEN=", "image_pull_secret: ", "AZURE_SEARCH_ADMIN_KEY=",
		"search_api_key=", "PAGERDUTY_ROUTING_KEY=", "GITEA_TOKEN=", "wandb_api_key: ",
	} {
		text := name + value
		if name == "GITEA_TOKEN=" || name == "wandb_api_key: " {
			text = name + random(64, 40, hex)
		}
		require.Len(t, detect.Secrets().Find(nil, text), 1, text)
	}
	for _, name := range []string{"X-Honeycomb-Team: ", "HONEYCOMB_TEAM="} {
		require.Len(t, detect.Secrets().Find(nil, name+random(65, 32, hex)), 1, name)
	}
	for _, before := range []string{"secret key=", "gitea token is="} {
		found := detect.Secrets().Find(nil, before+value)
		require.Len(t, found, 1, before)
		require.Equal(t, len(before), found[0].Start, before)
	}
	require.Len(t, detect.Secrets().Find(nil, "SEARCH_PASSWORD=Xk7!mQ2vR9"), 1)
}

// A value that follows a name with a space between stays one, whatever comes behind it: a stream
// has shown it as one by then.
func TestBareValuesInStreams(t *testing.T) {
	for _, text := range []string{
		"The token ClaimTypes2024AbCdEfGhIj is documented.",
		"API key Ab3dE5fG7hI9jK1lM3nO5 is revoked", "API key Ab3dE5fG7hI9jK1lM3nO5: gone",
		"the API key Ab3dE5fG7hI9jK1lM3nO5 for staging was deleted",
		"login bob password Tr0ub4dor3 is",
		"my key is Ab3dE5fG7hI9jK1lM3nO5 or token Zb3dE5fG7hI9jK1lM3nO5 = x",
	} {
		law, pos := detecttest.Offence(detect.Secrets(), text)
		require.Empty(t, law, "%q at %d", text, pos)
		require.NotEmpty(t, detect.Secrets().Find(nil, text), text)
	}
}
