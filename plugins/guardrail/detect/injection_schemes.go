package detect

import "strings"

// injectionSchemes are the ways to turn a model, and the words they take.
var injectionSchemes = [...]scheme{
	{"override", [3]string{overrideVerbs, overrideWhat, overrideScope + overrideAll}},
	{"override", [3]string{overrideVerbs, overrideRules, overrideScope}},
	{"override", [3]string{overrideVerbs, overrideTold, ""}},
	{"override", [3]string{overrideNew, "", ""}},
	{"override", [3]string{ // another's text instead of one's own
		"ignore|disregard",
		"the webpage|the web page|the page|the page content|the article|the document|the email|the resume|the paper|the content|the real content|the function|the user's question|this resume|the rest of this page",
		"and state|and say|and claim|and declare|and conclude|and reply with|and respond with|and tell the user|and output|please summarize|and visit",
	}},
	{"reveal", [3]string{revealVerbs, revealWhat, ""}},
	{"reveal", [3]string{revealLoud, "your instructions|your instructions verbatim", ""}},
	{"reveal", [3]string{revealSecrets, "", ""}},
	{"reveal", [3]string{"tell me|give me|share|confirm|what is|what's", "the password for|the passcode for|the secret code for", "our system|the system|this system|your system"}},
	{"override", [3]string{"disable|turn off|switch off|deactivate", "your safety|your filters|your content filter|your content filters|your restrictions|your guardrails|your ethical", ""}},
	{"role", [3]string{roleVerbs, roleFree, ""}},
	{"role", [3]string{"you are now in|you are in|you're in|you're now in|respond in|answer in|simulate|chatgpt|chatgpt with|switch to|enable|enter|entering|now entering", "dan mode|jailbreak mode|unrestricted mode|unfiltered mode|uncensored mode|override mode|evil mode", ""}},
	{"role", [3]string{
		"you are now in|you are in|you're in|you're now in|chatgpt|enable|enabled|enter|entering|activate|switch to|i'm running",
		"developer mode|god mode|debug mode|sudo mode|admin mode|root mode|maintenance mode|verification mode",
		"you will|you must|you can now|unfiltered|answer every|answer all|any content|show all|all data|without ethical|no restrictions|confirm the password|reveal|as an ai|as your creator",
	}},
	{"role", [3]string{"you have been jailbroken|you are jailbroken|stands for do anything now|stands for 'do anything now'|known as dan|stay in character as dan|do anything now|you must comply with every|must always answer and never refuse|override mode, you|<god mode>", "", ""}},
	{"authority", [3]string{
		"i am your developer|i'm your developer|i am your creator|i'm your creator|as your developer|as your creator|i am your administrator|i'm your administrator|i am god|i'm god|law enforcement override|security override mode|as an ai developed by",
		"disable|order you|you must|you have to|need you to|need to assess|tell me|reveal|show all|where is the user|print the|entering a|listen to my",
		"",
	}},
	{"conceal", [3]string{
		"do not tell|don't tell|never tell|do not inform|don't inform|do not mention|don't mention|without telling|without informing|hide this from|keep this from",
		"the user|the human|the owner|the operator|your user|your developer",
		"",
	}},
	{"address", [3]string{
		"ai assistant|ai assistants|ai agent|ai agents|ai model|language model|language models|llm|llms|ai reading this|assistant reading this|ai systems",
		"new instructions|important instructions|special instructions|must ignore|must now|must execute|must obey|recommend this product|add the text",
		"",
	}},
	{"address", [3]string{"if you are an ai reading|if you are an ai assistant|if you are an ai model|if you are an llm|if you are a language model|note to ai assistants|note to any ai|note to llms|attention llm|attention ai|to the ai processing|to the ai reading|<!-- ai:|llm: disregard|[ai assistant:", "", ""}},
	{"exfiltrate", [3]string{
		"send|forward|append|upload|exfiltrate|include|add|encode|transmit|embed|render|post",
		"conversation history|chat history|user's data|user's credentials|users' credentials|user's personal|user's contacts|user's emails|all passwords|the api key|conversation so far",
		"http://|https://|image url|the link|query string|![|attacker|your new objective",
	}},
	{"tool", [3]string{
		"call|use|invoke|run|execute",
		"tool|tools|function|command|send_email",
		"without asking the user|without telling the user|without asking for confirmation|without user confirmation|do not ask the user|before responding to the user|before answering the user",
	}},
	{"tool", [3]string{"silently upload|silently send|silently forward|silently execute|silently call", "", ""}},
	{"smuggle", [3]string{
		"decode|decrypt|decipher|concatenate|combine|join|interlace|assemble",
		"base64|rot13|hex|hexadecimal|morse|binary|cipher|caesar|parts|strings|fragments|a, b, and c",
		"and follow|and execute|and obey|then follow|then execute|then obey|follow the instructions|execute it|as your prompt|and do what it|and answer the question",
	}},
	{"tag", [3]string{
		"<|im_start|>|<|im_end|>|<|system|>|<|user|>|<|assistant|>|<|endoftext|>|<|start_header_id|>|<|end_header_id|>|<|eot_id|>|<|begin_of_text|>|<|endofprompt|>|[inst]|[/inst]|<<sys>>|<</sys>>|<start_of_turn>|<end_of_turn>|" +
			"<system mode>|<system_prompt>|</system_prompt>|[system]:|[system](#|### system:|begin system prompt|end of system prompt|system override:",
		"", "",
	}},
	{"tag", [3]string{"<system>|</system>|\"role\": \"system\"|\"role\":\"system\"", "you must|ignore|now do as|new instructions|override|you are evil|no restrictions", ""}},
}

const (
	roleVerbs = "you are now|you're now|act as|acting as|pretend|pretending|roleplay|role-play|play the role|role of|simulate|behave as|respond as|answer as|from now on|imagine you are|imagine you're|immerse yourself|take on the persona|take the persona|" +
		"become an|you will answer|you have no|hypothetical world|going to act|assume the role|" +
		"actúa como|eres ahora|tu es maintenant|agis comme|du bist jetzt|agisci come|sei ora|aja como|você é agora|ты теперь|веди себя как|你现在是|扮演|あなたは今|너는 이제"
	roleFree = "now dan|as dan|be dan|called dan|named dan|known as dan|do anything now|jailbroken|unrestricted ai|unfiltered ai|uncensored ai|uncensored model|unrestricted model|unfiltered model|unfiltered response|evil ai|evil assistant|hacker ai|no restrictions|" +
		"without restrictions|without any restrictions|without ethical|without moral|without safety|without any limitations|without any filters|no content policy|no content filter|no ethical|no moral|not bound by any|not bound by the|no longer bound by|free from all|" +
		"free from openai|typical confines|never refuses|never says no|never refuse|must comply with|strives to avoid norms|amoral and|" +
		"sin restricciones|sans restriction|sans restrictions|sans limites|ohne einschränkungen|ohne regeln|senza restrizioni|sem restrições|без ограничений|没有限制|無制限|제한 없"
)

// split parts words; the marks of chat templates have the sign that parts them within.
func split(words string) (list []string) {
	for words != "" {
		n := strings.IndexByte(words, '|')
		if strings.HasPrefix(words, "<|") {
			n = strings.Index(words, "|>") + len("|>")
			if n == len(words) {
				n = -1
			}
		}
		if n < 0 {
			return append(list, words)
		}
		list, words = append(list, words[:n]), words[n+1:]
	}
	return list
}
