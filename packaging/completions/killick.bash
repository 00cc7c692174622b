# bash completion for killick(1); see bash-completion for how it is found                -*- shell-script -*-

# Behind -- the command line is a server's; true when that is where we are.
_killick_command() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "${COMP_WORDS[COMP_CWORD]}")
		fi
		return 0
	done
	return 1
}

# The names of servers or tools; --config and --server count. No server is started.
_killick_names() {
	local i opts=()
	for ((i = 2; i + 1 < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--config) opts+=(--config "${COMP_WORDS[i + 1]/#\~\//$HOME/}") ;;
		--server) opts+=(--server "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	"${COMP_WORDS[0]}" complete "$1" "${opts[@]}" 2>/dev/null
}

_killick() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} more=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run wrap unwrap ps top hub connect reap doctor demo exec-server tools call resources read
			prompts ping status inspect help --help --version' -- "$cur")
		return
	fi
	case $verb in
	run)
		if _killick_command; then return; fi
		case $prev in
		--contain) mapfile -t COMPREPLY < <(compgen -W 'auto namespace cgroup keeper group' -- "$cur") ;;
		--owner) mapfile -t COMPREPLY < <(compgen -W 'parent stdin' -- "$cur") ;;
		--log | --report | --config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
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
		--config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--token-env) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--tree --json --all --on --config --token-env --help' -- "$cur") ;;
		esac
		;;
	wrap | unwrap)
		case $prev in
		--only) mapfile -t COMPREPLY < <(compgen -W 'claude-code claude-desktop codex vscode copilot cursor windsurf gemini
			antigravity opencode goose zed cline roo kilo kiro continue lmstudio junie qwen amp' -- "$cur") ;;
		--server | --idle) ;;
		--share) mapfile -t COMPREPLY < <(compgen -W 'never identical auto' -- "$cur") ;;
		*)
			[[ $verb != wrap ]] || more='--hub --share --idle'
			mapfile -t COMPREPLY < <(compgen -f -W "--yes --dry-run --only --server --json --help $more" -- "$cur")
			;;
		esac
		;;
	top) [[ $prev == --interval ]] || mapfile -t COMPREPLY < <(compgen -W '--once --json --interval --help' -- "$cur") ;;
	hub)
		case $prev in
		--listen) mapfile -t COMPREPLY < <(compgen -W 'unix stdio' -- "$cur") ;;
		--config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--idle-exit | --max-connections) ;;
		*) mapfile -t COMPREPLY < <(compgen -W 'status stop reload sessions servers --json --listen --config --idle-exit
			--max-connections --quiet --help' -- "$cur") ;;
		esac
		;;
	connect)
		if _killick_command; then return; fi
		case $prev in
		--config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--server) mapfile -t COMPREPLY < <(compgen -W "$(_killick_names servers)" -- "$cur") ;;
		--share) mapfile -t COMPREPLY < <(compgen -W 'never identical auto' -- "$cur") ;;
		--session | --idle) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--config --server --session --share --idle --help --' -- "$cur") ;;
		esac
		;;
	reap) mapfile -t COMPREPLY < <(compgen -W '--dry-run --no-wait --forget --json --help' -- "$cur") ;;
	doctor) mapfile -t COMPREPLY < <(compgen -W '--reap --json --help' -- "$cur") ;;
	exec-server)
		case $prev in
		--token-file | --tls-cert | --tls-key) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--listen) mapfile -t COMPREPLY < <(compgen -W 'ws://127.0.0.1:0 wss:// unix: stdio' -- "$cur") ;;
		--contain) mapfile -t COMPREPLY < <(compgen -W 'auto namespace cgroup keeper group' -- "$cur") ;;
		--token-sha256 | --lease | --retain | --max-connections | --max-processes | --max-startups | --max-output) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--listen --token-file --token-sha256 --tls-cert --tls-key
			--insecure --lease --retain --contain --max-connections --max-processes --max-startups --max-output --quiet --help' -- "$cur") ;;
		esac
		;;
	demo) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$cur") ;;
	tools | call | resources | read | prompts | ping | status | inspect)
		if _killick_command; then return; fi
		[[ $verb != call ]] || more='--args --no-check'
		[[ $verb != ping ]] || more=--count
		case $prev in
		--config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--server) mapfile -t COMPREPLY < <(compgen -W "$(_killick_names servers)" -- "$cur") ;;
		--env) mapfile -t COMPREPLY < <(compgen -v -- "$cur") ;;
		--timeout | --args | --count) ;;
		*)
			[[ $verb != @(call|tools) || $cur == -* ]] || more+=" $(_killick_names tools)"
			mapfile -t COMPREPLY < <(compgen -W "--config --server --timeout --env --clean-env --json --verbose --help -- $more" -- "$cur")
			;;
		esac
		;;
	help) mapfile -t COMPREPLY < <(compgen -W 'run wrap unwrap ps top hub connect reap doctor demo exec-server tools call resources read prompts
		ping status inspect' -- "$cur") ;;
	esac
}
complete -F _killick killick
