package detect

import "strings"

// injectionSchemes are the ways to turn a model, and the words they take.
var injectionSchemes = [...]scheme{
	{"override", [3]string{
		overrideVerbs,
		"instructions|instruction|directions|directives|directive|prompt|prompts|guidelines|guidance|said above|the above and|" +
			"instrucciones|órdenes|indicaciones|directrices|consignes|anweisungen|anweisung|instruktionen|befehle|vorgaben|istruzioni|direttive|instruções|ordens|diretrizes|instructies|opdrachten|aanwijzingen|" +
			"instrukcje|instrukcji|polecenia|poleceń|talimatları|talimatlar|" +
			"инструкции|указания|команды|التعليمات|الأوامر|निर्देश|指令|指示|提示|命令|プロンプト|지시|명령|지침|프롬프트",
		overrideScope + "|all|everything|all that|the above|so far|todas|toutes|alle|tutte|wszystkie|wszystkich|tüm|все|كل|सभी|所有|すべて|모든",
	}},
	{"override", [3]string{
		overrideVerbs,
		"rules|commands|orders|constraints|restrictions|programming|training|reglas|règles|regeln|regole|regras|regels|zasady|kuralları|правила|规则|規則|규칙",
		overrideScope,
	}},
	{"override", [3]string{overrideVerbs, "you have been told|you've been told|you were told|you've been instructed|you have been instructed|you were instructed|you have been taught|been instructed before", ""}},
	{"reveal", [3]string{
		"reveal|show|print|output|repeat|display|leak|disclose|expose|dump|recite|tell me|give me|send me|share|confirm|provide|what is|what are|what's|write down|translate|summarize|" +
			"muestra|muéstrame|revela|dime|affiche|montre|révèle|donne-moi|zeige|nenne|verrate|mostra|rivela|dimmi|mostre|revele|toon|onthul|pokaż|ujawnij|göster|покажи|раскрой|выведи|显示|输出|告诉我|透露|表示|教えて|보여|알려",
		"system prompt|initial prompt|original prompt|hidden prompt|initial instructions|original instructions|hidden instructions|secret instructions|your instructions|your prompt|your system prompt|" +
			"prompt del sistema|prompt de sistema|instrucciones del sistema|prompt système|instructions système|systemprompt|system-prompt|systemanweisung|systemanweisungen|prompt di sistema|prompt do sistema|systeemprompt|prompt systemowy|sistem promptu|sistem istemini|системный промпт|системные инструкции|系统提示|系统指令|システムプロンプト|시스템 프롬프트",
		"",
	}},
	{"role", [3]string{
		"you are now|you're now|act as|acting as|pretend|pretending|roleplay|role-play|play the role|simulate|behave as|respond as|answer as|from now on|imagine you are|enable|enter|activate|switch to|enabled|activated|" +
			"actúa como|eres ahora|tu es maintenant|agis comme|du bist jetzt|agisci come|sei ora|aja como|você é agora|ты теперь|веди себя как|你现在是|扮演|あなたは今|너는 이제",
		"now dan|as dan|be dan|called dan|named dan|do anything now|jailbreak|jailbroken|developer mode|god mode|dan mode|debug mode|sudo mode|admin mode|unrestricted mode|unrestricted ai|unfiltered ai|uncensored ai|uncensored model|unrestricted model|evil ai|evil assistant|no restrictions|without restrictions|without any restrictions|without ethical|not bound by any|free from all|" +
			"sin restricciones|sans restriction|sans restrictions|sans limites|ohne einschränkungen|ohne regeln|senza restrizioni|sem restrições|без ограничений|没有限制|無制限|제한 없",
		"",
	}},
	{"conceal", [3]string{
		"do not tell|don't tell|never tell|do not inform|don't inform|do not mention|don't mention|without telling|without informing|hide this from|keep this from",
		"the user|the human|the owner|the operator|your user|your developer",
		"",
	}},
	{"address", [3]string{
		"ai assistant|ai assistants|ai agent|ai agents|ai model|language model|language models|llm|llms|ai reading this|assistant reading this|ai systems",
		"new instructions|important instructions|special instructions|must ignore|must now|must execute|must obey",
		"",
	}},
	{"tag", [3]string{
		"<|im_start|>|<|im_end|>|<|system|>|<|user|>|<|assistant|>|<|endoftext|>|<|start_header_id|>|<|eot_id|>|<|begin_of_text|>|[inst]|[/inst]|<<sys>>|<</sys>>|<system>|</system>|<system mode>|<system_prompt>|</system_prompt>|[system]:|### system:|begin system prompt|end of system prompt|system override:",
		"", "",
	}},
}

const (
	overrideVerbs = "ignore|ignores|ignoring|disregard|disregarding|forget|overlook|override|bypass|neglect|discard|set aside|pay no attention to|do not follow|don't follow|stop following|no longer follow|do not obey|don't obey|" +
		"ignora|ignorar|ignoren|olvida|olvide|olvídate|omite|ignorez|ignorer|oublie|oubliez|ignoriere|ignorieren|ignorier|vergiss|vergessen sie|missachte|missachten|dimentica|dimenticate|ignorate|ignorem|esqueça|esquece|desconsidere|" +
		"negeer|vergeet|zignoruj|ignoruj|zapomnij|yoksay|unut|görmezden gel|" +
		"игнорируй|игнорируйте|проигнорируй|забудь|забудьте|تجاهل|انس|अनदेखा|नज़रअंदाज़|भूल जा|忽略|无视|無視|忘记|忘記|忘れ|무시|잊어"
	overrideScope = "previous|prior|above|earlier|preceding|former|initial|original|your|foregoing|" +
		"anteriores|anterior|previas|tus|sus|précédentes|précédents|tes|vos|ci-dessus|vorherigen|vorherige|bisherigen|obigen|vorigen|früheren|deine|precedenti|tue|suas|vorige|eerdere|bovenstaande|" +
		"poprzednie|poprzednich|wcześniejsze|önceki|предыдущие|предыдущих|прежние|السابقة|पिछले|之前|以上|上面|先前|以前|上記|これまで|前の|이전|위의"
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
