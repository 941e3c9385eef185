package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/cmd/runner/internal/cli"
	"github.com/plughook/plughook/config"
)

// parseServe parses the arguments of a container, as the program would.
func parseServe(t *testing.T, args []string) map[string]string {
	t.Helper()
	root := newRoot(&cli.Program{})
	cmd, rest, err := root.Find(args)
	require.NoError(t, err)
	require.Equal(t, "serve", cmd.Name())
	require.NoError(t, cmd.ParseFlags(rest))
	require.Empty(t, cmd.Flags().Args())
	said := map[string]string{}
	for _, name := range []string{"config", "store", "log-format"} {
		said[name] = cmd.Flag(name).Value.String()
	}
	require.True(t, strings.HasPrefix(said["store"], "postgres://"))
	return said
}

// mount is where a container finds a file or a directory.
type mount struct{ Source, Target string }

// The samples of deploy start this program with flags that it has, files that are mounted, routes that it
// serves, and time enough to end.
func TestDeploySamples(t *testing.T) {
	const dir = "../../deploy"
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	c, err := config.Load(t.Context(), filepath.Join(dir, "runner.yaml"))
	require.NoError(t, err)
	require.False(t, onLoopback(c.Server().Addr), "the proxy has to reach it")
	tokens := c.Server().Tokens
	require.NotEmpty(t, tokens)

	t.Run("Kubernetes", func(t *testing.T) {
		type probe struct {
			HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
		}
		type object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Replicas int
				Selector map[string]any
				Template struct {
					Metadata struct{ Labels map[string]string }
					Spec     struct {
						Grace      int64 `yaml:"terminationGracePeriodSeconds"`
						Containers []struct {
							Args      []string
							Ports     []struct{ Name string }
							Readiness probe `yaml:"readinessProbe"`
							Liveness  probe `yaml:"livenessProbe"`
							Lifecycle struct {
								PreStop struct{ Sleep struct{ Seconds int64 } } `yaml:"preStop"`
							}
							VolumeMounts []struct {
								MountPath string `yaml:"mountPath"`
							} `yaml:"volumeMounts"`
						}
					}
				}
			}
		}
		var kinds []string
		for _, text := range strings.Split(read("kubernetes.yaml"), "\n---\n") {
			var o object
			require.NoError(t, yaml.Unmarshal([]byte(text), &o))
			require.Equal(t, "runner", o.Metadata.Name)
			kinds = append(kinds, o.Kind)
			if o.Kind != "Deployment" {
				continue
			}
			pod := o.Spec.Template.Spec
			require.Len(t, pod.Containers, 1)
			one := pod.Containers[0]
			require.Equal(t, "/ready", one.Readiness.HTTPGet.Path)
			require.Equal(t, "/health", one.Liveness.HTTPGet.Path)
			require.Equal(t, one.Ports[0].Name, one.Readiness.HTTPGet.Port)
			ends := shutdownTime + time.Duration(one.Lifecycle.PreStop.Sleep.Seconds)*time.Second
			require.Greater(t, time.Duration(pod.Grace)*time.Second, ends+5*time.Second)
			said := parseServe(t, one.Args)
			var dirs []string
			for _, m := range one.VolumeMounts {
				dirs = append(dirs, m.MountPath)
			}
			require.Contains(t, dirs, filepath.Dir(said["config"]))
			require.Contains(t, dirs, filepath.Dir(tokens))
		}
		require.Equal(t, []string{"Deployment", "Service", "PodDisruptionBudget"}, kinds)
	})

	t.Run("Compose", func(t *testing.T) {
		var file struct {
			Services map[string]struct {
				Command   []string
				Configs   []mount
				Secrets   []mount
				Grace     string `yaml:"stop_grace_period"`
				DependsOn any    `yaml:"depends_on"`
				Deploy    struct{ Replicas int }
			}
			Configs, Secrets map[string]struct{ File, Content string }
		}
		require.NoError(t, yaml.Unmarshal([]byte(read("compose.yaml")), &file))
		one := file.Services["runner"]
		require.Equal(t, 3, one.Deploy.Replicas)
		said := parseServe(t, one.Command)
		require.Equal(t, said["config"], one.Configs[0].Target)
		require.Equal(t, tokens, one.Secrets[0].Target)
		require.FileExists(t, filepath.Join(dir, file.Configs[one.Configs[0].Source].File))
		require.Contains(t, file.Secrets, one.Secrets[0].Source)
		require.Contains(t, file.Configs[file.Services["proxy"].Configs[0].Source].Content,
			"dynamic a runner 8080")
		grace, err := time.ParseDuration(one.Grace)
		require.NoError(t, err)
		require.Greater(t, grace, shutdownTime)
	})
}

// A release is built as docs/releases.md says, from files that are there, after all tests.
func TestReleaseFiles(t *testing.T) {
	read := func(name string, into any) {
		text, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into), name)
	}
	var release struct {
		Builds []struct {
			Main    string
			Env     []string
			Flags   []string
			Ldflags []string
		}
		Archives []struct{ Files []string }
	}
	read(".goreleaser.yaml", &release)
	require.Len(t, release.Builds, 1)
	build := release.Builds[0]
	require.Equal(t, "./cmd/runner", build.Main)
	require.Equal(t, []string{"CGO_ENABLED=0"}, build.Env)
	require.Equal(t, []string{"-trimpath"}, build.Flags)
	require.Equal(t, []string{"-s -w"}, build.Ldflags)
	for _, file := range release.Archives[0].Files {
		require.FileExists(t, filepath.Join("../..", file))
	}

	type workflow struct {
		Jobs map[string]struct {
			Needs string
			Steps []struct{ Run string }
		}
	}
	runs := func(w workflow, job, command string) {
		t.Helper()
		found := false
		for _, step := range w.Jobs[job].Steps {
			found = found || step.Run == command
		}
		require.True(t, found, "%s runs %s", job, command)
		info, err := os.Stat(filepath.Join("../..", command))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o111, "%s is a program", command)
	}
	var ci, tagged workflow
	read(".github/workflows/ci.yaml", &ci)
	read(".github/workflows/release.yaml", &tagged)
	runs(ci, "tests", ".ci/run")
	runs(ci, "api", ".ci/api")
	runs(tagged, "tests", ".ci/run")
	require.Equal(t, "tests", tagged.Jobs["release"].Needs)
}
