# bash completion for killick(1); see bash-completion for how it is found                -*- shell-script -*-

# Behind -- the command line is a server's; true when that is where we are.
_killick_command() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		else
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}")
		fi
		return 0
	done
	return 1
}

# Set `plain` to a word without its quotes, and `quote` to the quote that is still open. Nothing in the word is expanded or executed.
_killick_unquote() {
	local word=$1 c
	plain='' quote=''
	while [[ $word ]]; do
		c=${word:0:1} word=${word:1}
		case $quote$c in
		\\) plain+=${word:0:1} word=${word:1} ;;
		\"\\) [[ ${word:0:1} == [\$\`\"\\] ]] || plain+=$c; plain+=${word:0:1} word=${word:1} ;;
		\' | \") quote=$c ;;
		\'\' | \"\") quote='' ;;
		*) plain+=$c ;;
		esac
	done
}

# Offer the names of servers or tools; --config and --server count. No server is started. A name comes from a config or a server, so the name is quoted:
# compgen -W would execute $(...) in the name at the Tab key, and the shell would do so at the Enter key.
_killick_names() {
	local i program=${COMP_WORDS[0]} plain quote opts=() name
	[[ $program == /* ]] || program=killick # not a program of the working directory
	for ((i = 2; i + 1 < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == --@(config|server) ]] || continue
		_killick_unquote "${COMP_WORDS[i + 1]/#\~\//$HOME/}"
		opts+=("${COMP_WORDS[i]}" "$plain")
	done
	_killick_unquote "$cur"
	[[ ! $quote || $cur == "$quote"* ]] || return # readline would not replace the whole word
	while IFS= read -r name; do
		[[ $name == "$plain"* ]] || continue
		case $quote in
		\') name=${name//\'/\'\\\'\'} ;;
		\")
			[[ $name != *!* ]] || continue # no quoting of ! inside of "" keeps the name
			name=${name//\\/\\\\} name=${name//\"/\\\"} name=${name//\$/\\\$} name=${name//\`/\\\`}
			;;
		*) printf -v name %q "$name" ;;
		esac
		if [[ $quote ]]; then # readline adds no quote beside a quote
			[[ $name != "$quote"* ]] || name=$quote$name
			[[ $name != *"$quote" ]] || name+=$quote
		fi
		COMPREPLY+=("$name")
	done < <("$program" complete "$1" "${opts[@]}" 2>/dev/null)
}

# Offer files; readline quotes their names.
_killick_files() {
	compopt -o filenames 2>/dev/null # fails outside of a completion
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

_killick() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} more=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run wrap unwrap trust ps top hub connect reap doctor demo exec-server tools call resources read
			prompts ping status inspect help --help --version' -- "$cur")
		return
	fi
	case $verb in
	run)
		if _killick_command; then return; fi
		case $prev in
		--contain) mapfile -t COMPREPLY < <(compgen -W 'auto namespace cgroup keeper group' -- "$cur") ;;
		--owner) mapfile -t COMPREPLY < <(compgen -W 'parent stdin' -- "$cur") ;;
		--log | --report | --config) _killick_files ;;
		--on) mapfile -t COMPREPLY < <(compgen -W 'ssh: ws:// wss:// unix:' -- "$cur") ;;
		--env) mapfile -t COMPREPLY < <(compgen -v -- "$cur") ;;
		--grace | --max-procs | --memory | --name | --session | --cwd | --token-env | --rest) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--grace --contain --owner --max-procs --memory --name
			--session --log --report --no-container --rest --restart --supersede --on --cwd --env --config --token-env --help --' -- "$cur") ;;
		esac
		;;
	ps)
		case $prev in
		--on) mapfile -t COMPREPLY < <(compgen -W 'ssh: ws:// wss:// unix:' -- "$cur") ;;
		--config) _killick_files ;;
		--token-env) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--tree --json --show-secrets --all --on --config --token-env --help' -- "$cur") ;;
		esac
		;;
	wrap | unwrap)
		case $prev in
		--only) mapfile -t COMPREPLY < <(compgen -W 'claude-code claude-desktop codex vscode copilot cursor windsurf gemini
			antigravity opencode goose zed cline roo kilo kiro continue lmstudio junie qwen amp' -- "$cur") ;;
		--server | --idle) ;;
		--share) mapfile -t COMPREPLY < <(compgen -W 'never identical auto' -- "$cur") ;;
		*)
			more=--all
			[[ $verb != wrap ]] || more='--hub --share --idle'
			compopt -o filenames 2>/dev/null
			mapfile -t COMPREPLY < <(compgen -f -W "--yes --dry-run --show-secrets --only --server --json --help $more" -- "$cur")
			;;
		esac
		;;
	trust)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -W '--list --forget --show-secrets --json --help' -- "$cur")
		;;
	top) [[ $prev == --interval ]] || mapfile -t COMPREPLY < <(compgen -W '--once --json --interval --help' -- "$cur") ;;
	hub)
		case $prev in
		--listen) mapfile -t COMPREPLY < <(compgen -W 'unix stdio' -- "$cur") ;;
		--config) _killick_files ;;
		--idle-exit | --stall | --max-connections) ;;
		*) mapfile -t COMPREPLY < <(compgen -W 'status stop reload sessions servers restart --json --listen --config --idle-exit
			--stall --max-connections --quiet --help' -- "$cur") ;;
		esac
		;;
	connect)
		if _killick_command; then return; fi
		case $prev in
		--config) _killick_files ;;
		--server) _killick_names servers ;;
		--share) mapfile -t COMPREPLY < <(compgen -W 'never identical auto' -- "$cur") ;;
		--session | --idle) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--config --server --session --share --idle --help --' -- "$cur") ;;
		esac
		;;
	reap) mapfile -t COMPREPLY < <(compgen -W '--dry-run --no-wait --forget --json --help' -- "$cur") ;;
	doctor) mapfile -t COMPREPLY < <(compgen -W '--reap --json --show-secrets --help' -- "$cur") ;;
	exec-server)
		case $prev in
		--token-file | --tls-cert | --tls-key) _killick_files ;;
		--listen) mapfile -t COMPREPLY < <(compgen -W 'ws://127.0.0.1:0 wss:// unix: stdio' -- "$cur") ;;
		--contain) mapfile -t COMPREPLY < <(compgen -W 'auto namespace cgroup keeper group' -- "$cur") ;;
		--token-sha256 | --lease | --retain | --max-connections | --max-processes | --max-startups | --max-output) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--listen --token-file --token-sha256 --tls-cert --tls-key
			--insecure --lease --retain --contain --sandbox --max-connections --max-processes --max-startups --max-output --quiet --help' -- "$cur") ;;
		esac
		;;
	demo) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$cur") ;;
	tools | call | resources | read | prompts | ping | status | inspect)
		if _killick_command; then return; fi
		[[ $verb != call ]] || more='--args --no-check'
		[[ $verb != ping ]] || more=--count
		case $prev in
		--config) _killick_files ;;
		--server) _killick_names servers ;;
		--env) mapfile -t COMPREPLY < <(compgen -v -- "$cur") ;;
		--timeout | --args | --count) ;;
		*)
			[[ $verb != @(call|tools) || $cur == -* ]] || _killick_names tools
			((${#COMPREPLY[@]})) ||
				mapfile -t COMPREPLY < <(compgen -W "--config --server --timeout --env --clean-env --json --verbose --help -- $more" -- "$cur")
			;;
		esac
		;;
	help) mapfile -t COMPREPLY < <(compgen -W 'run wrap unwrap trust ps top hub connect reap doctor demo exec-server tools call resources read prompts
		ping status inspect' -- "$cur") ;;
	esac
}
complete -F _killick killick
