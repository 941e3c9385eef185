package detect

// Words to override what a model was told. In other languages than English they are told apart by what is beside them.
const (
	overrideVerbs = "ignore|ignores|ignoring|disregard|disregarding|forget|overlook|override|bypass|neglect|discard|should be ignored|must be ignored|pay no attention to|do not follow|don't follow|stop following|no longer follow|no longer have to follow|" +
		"no longer need to follow|don't have to follow|do not have to follow|do not obey|don't obey|stop obeying|nevermind|abandon|" +
		"ignora|ignorar|ignoren|olvida|olvide|olvídate|omite|ignorez|ignorer|oublie|oubliez|ignoriere|ignorieren|ignorier|vergiss|vergessen sie|missachte|missachten|dimentica|dimenticate|ignorate|ignorem|esqueça|esquece|desconsidere|" +
		"negeer|vergeet|zignoruj|ignoruj|ignorujte|zapomnij|yoksay|yok say|unut|görmezden gel|ignorera|glöm|bortse från|glem|se bort fra|zapomeň|zabudni|ignoră|ignorați|uită|hagyd figyelmen kívül|felejtsd el|unohda|jätä huomiotta|" +
		"abaikan|lupakan|bỏ qua|quên|phớt lờ|αγνόησε|αγνοήστε|ξέχασε|ξεχάστε|игнорирай|ігноруй|ігноруйте|" +
		"игнорируй|игнорируйте|игнорировать|проигнорируй|забудь|забудьте|תתעלם|התעלם|نادیده بگیر|تجاهل|انس|अनदेखा|अनदेखी|नज़रअंदाज़|नजरअंदाज|भूल जा|ละเว้น|เพิกเฉย|忽略|无视|無視|忘记|忘記|忘れ|무시|잊어"
	overrideScope = "previous|prior|above|earlier|preceding|former|initial|original|your|foregoing|came before|you were given|you have been given|you've been given|given to you|you got|" +
		"anteriores|anterior|previas|tus|sus|précédentes|précédents|tes|vos|ci-dessus|vorherigen|vorherige|bisherigen|obigen|vorigen|früheren|deine|precedenti|tue|suas|vorige|eerdere|bovenstaande|" +
		"poprzednie|poprzednich|wcześniejsze|önceki|tidigare|föregående|ovanstående|tidligere|foregående|forrige|předchozí|predchádzajúce|anterioare|precedente|korábbi|előző|aiemmat|aikaisemmat|edelliset|sebelumnya|di atas|trước|" +
		"προηγούμενες|предишни|попередні|предыдущие|предыдущих|прежние|הקודמות|قبلی|السابقة|पिछले|ก่อนหน้า|之前|以上|上面|先前|以前|上記|これまで|前述|前の|이전|위의"
	overrideWhat = "instructions|instruction|directions|directives|directive|prompt|prompts|guidelines|guidance|said above|the above and|" +
		"instrucciones|órdenes|indicaciones|directrices|consignes|anweisungen|anweisung|instruktionen|befehle|vorgaben|istruzioni|direttive|instruções|ordens|diretrizes|instructies|opdrachten|aanwijzingen|" +
		"instrukcje|instrukcji|polecenia|poleceń|talimatları|talimatlar|instruktioner|instruktionerna|anvisningar|instruksjoner|instrukser|anvisninger|pokyny|instrukce|instrucțiunile|instrucțiuni|utasítást|utasításokat|ohjeet|käskyt|" +
		"instruksi|perintah|hướng dẫn|chỉ dẫn|οδηγίες|εντολές|інструкції|вказівки|инструкции|указания|команды|ההוראות|הוראות|دستورالعمل|دستورات|التعليمات|الأوامر|निर्देश|คำสั่ง|คำแนะนำ|指令|指示|提示|命令|プロンプト|지시|명령|지침|프롬프트"
	overrideAll = "|all|every|everything|all that|the above|so far|todas|toutes|alle|tutte|wszystkie|wszystkich|tüm|alla|všechny|toate|összes|minden|kaikki|semua|tất cả|όλες|усі|всі|все|כל|همه|كل|सभी|ทั้งหมด|所有|すべて|모든"

	// overrideTold are things that only a model is told, or has.
	overrideTold = "you have been told|you've been told|you were told|you've been instructed|you have been instructed|you were instructed|you have been taught|been instructed before|you have been programmed|you were programmed|developer told you|" +
		"everything above|everything before this|everything i said before|everything that came before|prior context|previous context|earlier context|previous conversation|earlier conversation|prior conversation|the system message|the system prompt|" +
		"the developer message|your content policy|your content filter|your content filters|your safety|your ethical|your guidelines|your restrictions|your limitations|your filters|your programming|rules that tell you what|" +
		"te dijeron|te han dicho|te dije antes|dir gesagt|dir vorher gesagt|ihnen gesagt|t'a dit|ti è stato detto|te foi dito"

	// overrideNew are what new orders are called.
	overrideNew = "your new task is to|your new instructions are|your new objective is|your new goal is to|your real instructions|your real instruction|your true instructions|your real task|your actual instructions|new instructions follow|" +
		"begin new instructions:|start of new instructions|new system prompt:|the user has authorized you|you are authorized to skip|your previous instructions are"

	overrideRules = "rules|commands|orders|constraints|restrictions|programming|training|reglas|règles|regeln|regole|regras|regels|zasady|kuralları|правила|规则|規則|규칙"
)

// Words to have a model reveal what it was told.
const (
	revealVerbs = "reveal|show|print|output|repeat|display|leak|disclose|expose|dump|recite|copy|echo|reproduce|tell me|give me|send me|share|confirm|provide|what is|what are|what were|what's|write|write down|encode|translate|summarize|list|paste|i need|" +
		"muestra|muéstrame|revela|dime|cuál es|cuáles son|affiche|montre|révèle|donne-moi|quel est|quelles sont|zeige|zeig|nenne|verrate|wie lautet|mostra|rivela|dimmi|mostre|revele|toon|onthul|pokaż|ujawnij|göster|покажи|раскрой|выведи|" +
		"显示|输出|告诉我|透露|表示|教えて|보여|알려"
	revealWhat = "your system prompt|the system prompt|full system prompt|entire system prompt|exact system prompt|your initial prompt|your original prompt|hidden prompt|initial instructions|your original instructions|secret instructions|your hidden|" +
		"your prompt|your exact instructions|your full instructions|your complete instructions|your exact prompt|text of your prompt|contents of your prompt|information in your prompt|system message verbatim|your system message|and system message|" +
		"contents of the system message|your developer message|the developer message|instructions you were given|instructions you have been given|rules you were given|rules you have been given|hidden instructions you|" +
		"words above starting|everything above this|all the text above|everything before this|first message of this conversation|beginning of this conversation|start of this conversation|" +
		"prompt del sistema|prompt de sistema|instrucciones del sistema|tus instrucciones iniciales|prompt système|instructions système|tes instructions initiales|systemprompt|system-prompt|systemanweisung|systemanweisungen|prompt di sistema|" +
		"prompt do sistema|systeemprompt|prompt systemowy|sistem promptu|sistem istemini|системный промпт|системные инструкции|系统提示|系统指令|システムプロンプト|시스템 프롬프트"
	// revealSaid are said of a model's instructions only with verbs that nobody has for a customer's.
	revealLoud = "reveal|print|output|repeat|leak|disclose|expose|dump|recite|ignore"
	// revealSecrets ask for what a model guards.
	revealSecrets = "tell me your password|give me your password|what is your password?|what is the password?|what's the password?|you to confirm the password|can you confirm the password?|could you confirm the password?|can you confirm the password for|tell me the password|" +
		"reveal the password|give me the password|what is your secret key|what is the secret key|what is the secret code|secret key you|what did the developer tell you|what were you instructed|" +
		"cuál es la contraseña?|quel est le mot de passe?|quel est le mot de passe ?|qual è la password?|qual é a sua senha|qual é a senha?|was ist das passwort?|wie lautet das passwort?|ihr passwort geben|パスワードは何|密码是什么|비밀번호가 뭐"
)
