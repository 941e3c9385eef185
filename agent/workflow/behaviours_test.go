package workflow_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// behaviours are those that the tests of the Python kit's graph workflows hold, in their order,
// each with the test that holds it here, or with why there is none.
var behaviours = []struct{ what, test, whyNot string }{
	// What can be built.
	{what: "1 an empty workflow ends", test: "TestGraphs"},
	{
		what:   "2 chains, tuples and maps of edges are one graph",
		whyNot: "there is one way to write edges, and Chain for a row of them",
	},
	{
		what: "3 two nodes of one name are refused, of other kinds too",
		test: "TestGraphsThatAreRefused",
	},
	{
		what: "4 so are a node that nothing leads to, an edge into Start, a route out of it",
		test: "TestGraphsThatAreRefused",
	},
	{what: "5 so is a cycle without a route", test: "TestGraphsThatAreRefused"},
	{
		what: "6 so are a second Default, a Default in a list, an edge twice",
		test: "TestGraphsThatAreRefused",
	},
	{what: "7 so are types that do not fit along an edge", test: "TestGraphsThatAreRefused"},
	{what: "8 a name may be inside and outside of a nested graph", test: "TestGraphs"},

	// What goes along the edges.
	{what: "9 the first nodes get what the user said", test: "TestGraphs"},
	{what: "10 an output is the next input, through a join too", test: "TestGraphs"},
	{what: "11 0, false and empty are outputs, nil is none", test: "TestGraphs"},
	{what: "12 structs become data", test: "TestGraphs"},
	{
		what: "13 two outputs are refused",
		test: "TestTwoTriggers",
	}, // of a workflow; a function has one by its type
	{what: "14 messages come before the output, in order, and are no input", test: "TestMessages"},
	{what: "15 partial events are not stored, nor their state", test: "TestPartialEvents"},
	{what: "16 bytes in the state", test: "TestMessages"},
	{what: "17 an output fits its schema", test: "TestOutputsOfAgents"}, // a function's by its type
	{what: "18 so does an input, behind a join too", test: "TestInputBehindAJoin"},

	// Parameters.
	{what: "19 input and state together", test: "TestParameters"},
	{what: "20 what is missing is named", test: "TestParameters"},
	{what: "21 what may be missing", test: "TestParameters"},
	{what: "22 objects become structs, lists of them too", test: "TestGraphs"},
	{what: "23 a wrong item of a list is refused", test: "TestParameters"},
	{what: "24 a union takes its members", whyNot: "Go has no unions; any takes all"},
	{what: "25 a content's text, of several parts", test: "TestParameters"},
	{
		what:   "26 the context is found by its type",
		whyNot: "each function has it as its second parameter",
	},
	{
		what: "27 parameters of the input's fields, one that is missing fails",
		test: "TestParameters",
	},

	// State.
	{what: "28 state that is set, and that of actions, are stored", test: "TestMessages"},
	{
		what: "29 without an output, too",
		test: "TestStateOfGraphInGraph",
	}, // with the end, in one append
	{what: "30 a state schema refuses keys and types, and is inherited", test: "TestStateOfAGraph"},
	{what: "31 what an inner graph sets is read outside", test: "TestStateOfGraphInGraph"},

	// Routes and loops.
	{what: "32 text, number, bool and list", test: "TestRoutes"},
	{what: "33 Default without a match only", test: "TestRoutes"},
	{what: "34 edges without a route beside others", test: "TestRoutes"},
	{what: "35 one route to several nodes", test: "TestOneRouteToSeveralNodes"},
	{what: "36 a route without an output", test: "TestRoutes"},
	{what: "37 the rounds of a loop", test: "TestRoundsOfALoop"},
	{
		what: "38 a gate that opens at the second trigger",
		test: "TestRoundsOfALoop",
	}, // a join is one

	// At once.
	{
		what: "39 branches run at once, and do not wait for each other",
		test: "TestBranchesDoNotWaitForEachOther",
	},
	{what: "40 a join waits for all, and keeps what has no output", test: "TestGraphs"},
	{
		what:   "41 the branch of a join",
		whyNot: "nodes share their workflow's branch; an agent in a node has one of its own",
	},
	{what: "42 two nodes before one run it twice", test: "TestTwoTriggers"},
	{what: "43 workers keep the order; one item; none", test: "TestGraphs"},
	{
		what: "44 the limit of workers holds, after a resume too",
		test: "TestLimitOfWorkersAfterAResume",
	},
	{what: "45 a worker that fails cancels the others", test: "TestFailureCancels"},
	{what: "46 the limit of a graph", test: "TestNodesAtOnce"},

	// Graphs in graphs, and nodes that run others.
	{
		what: "47 the output of an inner graph is there once",
		test: "TestGraphs",
	}, // with an end of its own
	{what: "48 three levels", test: "TestGraphs"},
	{what: "49 a question in an inner graph stops the outer run", test: "TestQuestionsBelow"},
	{what: "50 a child that has ended is not run again", test: "TestDo"},
	{what: "51 one child's name under two parents", test: "TestOneChildOfTwoParents"},
	{what: "52 a number is no name of a run", test: "TestDo"},
	{
		what:   "53 only a node that runs again may run others",
		whyNot: "each function is called again until it has ended",
	},
	{what: "54 a delegated output is there once, and one", test: "TestOneDelegatedOutput"},
	{what: "55 a child's failure can be caught", test: "TestDo"},

	// Failures.
	{what: "56 an event for each attempt, and its number", test: "TestRetry"},
	{what: "57 only some errors", test: "TestRetry"},
	{what: "58 delay, factor, cap, jitter", test: "TestDelays"},
	{what: "59 it gives up after the last", test: "TestRetry"},
	{
		what: "60 others are cancelled, what ended stays, the first error wins",
		test: "TestFailureCancels",
	}, // and the workflow says so
	{what: "61 a time-out fails, is tried again, and hits no fast node", test: "TestRetry"},

	// Questions.
	{what: "62 ask, answer, go on; nodes before do not run again", test: "TestQuestions"},
	{what: "63 others run while one waits", test: "TestQuestions"},
	{what: "64 some answers: who has all of them goes on", test: "TestQuestions"},
	{what: "65 what stands around an answer", test: "TestAnswers"},
	{
		what: "66 a bad answer is refused, in an inner graph too",
		test: "TestAnswers",
	}, // and asked for again; TestDisturbedRunsEndAlike
	{what: "67 asked again in a loop", test: "TestQuestionsAgain"},
	{what: "68 an answer goes to the run that asked", test: "TestTwoRuns"},
	{what: "69 a second run does not see the first one's", test: "TestTwoRuns"},
	{what: "70 two triggers of a node that asks, one after the other", test: "TestQuestionsAgain"},
	{what: "71 path and input are the same after a resume", test: "TestARunIsTheSameAfterAResume"},
	{what: "72 an agent's answer is not asked for again", test: "TestAgentIsNotAskedTwice"},
	{
		what: "73 an output beside an open question",
		test: "TestQuestionThatIsIgnored",
	}, // refused: a run has ended, or it waits
	{what: "74 who an event is of is set", test: "TestWhatARunKnows"},
}

// Each behaviour has a test that is there, or a reason.
func TestBehaviours(t *testing.T) {
	tests := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = true
			}
		}
	}
	require.Len(t, behaviours, 74)
	for i, b := range behaviours {
		require.True(t, strings.HasPrefix(b.what, fmt.Sprint(i+1, " ")), b.what)
		require.True(t, tests[b.test] != (b.whyNot != ""), b.what)
	}
}
