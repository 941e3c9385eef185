package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Names of criteria, as the Agent Development Kit has them in test_config.json.
const (
	ToolTrajectory = "tool_trajectory_avg_score"
	ResponseMatch  = "response_match_score"
	// The others are judged by a model.
	FinalResponseMatch = "final_response_match_v2"
	ResponseQuality    = "rubric_based_final_response_quality_v1"
	ToolUseQuality     = "rubric_based_tool_use_quality_v1"
)

// Criteria are averages over the turns of a case, each with the threshold that it has to reach.
type Criteria []Criterion

// A Criterion is one of them.
type Criterion struct {
	Name      string
	Threshold float64
	// Skipped says that the criterion is one of the kit's that nothing here computes: it decides nothing.
	Skipped bool
	// Match is how the calls of ToolTrajectory compare: exact, in_order or any_order.
	Match string
	// JudgeModel is the model that is asked, as the configuration of the kit names it. Rubrics are what it is asked
	// about.
	JudgeModel string
	Rubrics    []Rubric
}

// A Rubric is a property that an answer, or the tool calls, should have.
type Rubric struct{ ID, Text string }

// defaultCriteria are those of the kit where a set has no test_config.json.
func defaultCriteria() Criteria {
	return Criteria{
		{Name: ToolTrajectory, Threshold: 1, Match: orderExact},
		{Name: ResponseMatch, Threshold: 0.8},
	}
}

// The orders of calls.
const (
	orderExact = "exact"
	orderIn    = "in_order"
	orderAny   = "any_order"
)

// notComputed are criteria of the kit that ask services of its maker, or are about a simulated user.
var notComputed = []string{"response_evaluation_score", "safety_v1", "hallucinations_v1", "per_turn_user_simulator_quality_v1"}

// ReadCriteria reads a test_config.json of the kit. A name that is not the kit's is an error, and so is a file without
// criteria. Criteria of the kit that nothing here computes are Skipped.
func ReadCriteria(name string, data []byte) (Criteria, error) {
	var file struct {
		Criteria map[string]json.RawMessage `json:"criteria"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, jsonPosition(data, err))
	}
	criteria, err := criteriaOf(file.Criteria)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return criteria, nil
}

func criteriaOf(members map[string]json.RawMessage) (Criteria, error) {
	known := []string{ToolTrajectory, ResponseMatch, FinalResponseMatch, ResponseQuality, ToolUseQuality}
	if len(members) == 0 {
		return nil, fmt.Errorf(`there are no criteria; write {"criteria": {%q: 1.0}}`, ToolTrajectory)
	}
	var all Criteria
	for name := range members {
		if !slices.Contains(known, name) && !slices.Contains(notComputed, name) {
			return nil, fmt.Errorf("the criterion %s is not known here; known are %s", name, strings.Join(known, ", "))
		}
	}
	for _, name := range known { // in a fixed order
		data, has := members[name]
		if !has {
			continue
		}
		c, err := criterionOf(name, data)
		if err != nil {
			return nil, fmt.Errorf("criterion %s: %w", name, err)
		}
		if c.Threshold < 0 || c.Threshold > 1 {
			return nil, fmt.Errorf("criterion %s: its threshold is from 0 to 1, not %v", name, c.Threshold)
		}
		all = append(all, c)
	}
	for _, name := range notComputed {
		if _, has := members[name]; has {
			all = append(all, Criterion{Name: name, Skipped: true})
		}
	}
	return all, nil
}

// criterionOf reads a threshold, or an object with one.
func criterionOf(name string, data []byte) (Criterion, error) {
	c := Criterion{Name: name, Match: orderExact}
	if string(data) == "null" {
		return c, fmt.Errorf("it is a number or an object with a threshold, not null")
	}
	if json.Unmarshal(data, &c.Threshold) == nil {
		if c.Name == ResponseQuality || c.Name == ToolUseQuality {
			return c, fmt.Errorf("it has no rubrics")
		}
		return c, nil
	}
	var object struct {
		Threshold *float64        `json:"threshold"`
		Match     json.RawMessage `json:"match_type"`
		Match2    json.RawMessage `json:"matchType"`
		Judge     struct {
			Model string `json:"judge_model"`
		} `json:"judge_model_options"`
		Judge2 struct {
			Model string `json:"judgeModel"`
		} `json:"judgeModelOptions"`
		Rubrics []rubricJSON `json:"rubrics"`
	}
	if err := json.Unmarshal(data, &object); err != nil || object.Threshold == nil {
		return c, fmt.Errorf("it is a number or an object with a threshold")
	}
	c.Threshold = *object.Threshold
	c.JudgeModel = object.Judge.Model + object.Judge2.Model
	for _, r := range object.Rubrics {
		rubric := r.rubric()
		if rubric.Text == "" {
			return c, fmt.Errorf("rubric %q has no rubric_content with a text_property", rubric.ID)
		}
		c.Rubrics = append(c.Rubrics, rubric)
	}
	if c.Name == ResponseQuality || c.Name == ToolUseQuality {
		if len(c.Rubrics) == 0 {
			return c, fmt.Errorf("it has no rubrics")
		}
	}
	if match := slices.Concat(object.Match, object.Match2); len(match) > 0 {
		var err error
		if c.Match, err = matchOf(match); err != nil {
			return c, err
		}
	}
	return c, nil
}

type rubricJSON struct {
	ID      string `json:"rubric_id"`
	ID2     string `json:"rubricId"`
	Content struct {
		Text  string `json:"text_property"`
		Text2 string `json:"textProperty"`
	} `json:"rubric_content"`
	Content2 struct {
		Text  string `json:"text_property"`
		Text2 string `json:"textProperty"`
	} `json:"rubricContent"`
}

func (r *rubricJSON) rubric() Rubric {
	return Rubric{
		ID:   r.ID + r.ID2,
		Text: r.Content.Text + r.Content.Text2 + r.Content2.Text + r.Content2.Text2,
	}
}

// matchOf reads a match type of the kit: a name, or its number there.
func matchOf(data []byte) (string, error) {
	text := strings.ToLower(strings.Trim(string(data), `"`))
	switch text {
	case orderExact, "0":
		return orderExact, nil
	case orderIn, "1":
		return orderIn, nil
	case orderAny, "2":
		return orderAny, nil
	}
	return "", fmt.Errorf("match_type is EXACT, IN_ORDER or ANY_ORDER, not %s", data)
}
