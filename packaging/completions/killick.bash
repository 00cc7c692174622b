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

_killick() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} more=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run ps reap doctor demo tools call resources read prompts ping
			status inspect help --help --version' -- "$cur")
		return
	fi
	case $verb in
	run)
		if _killick_command; then return; fi
		case $prev in
		--contain) mapfile -t COMPREPLY < <(compgen -W 'auto namespace cgroup keeper group' -- "$cur") ;;
		--owner) mapfile -t COMPREPLY < <(compgen -W 'parent stdin' -- "$cur") ;;
		--log | --report) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--grace | --max-procs | --memory | --name | --session) ;;
		*) mapfile -t COMPREPLY < <(compgen -W '--grace --contain --owner --max-procs --memory --name
			--session --log --report --help --' -- "$cur") ;;
		esac
		;;
	ps) mapfile -t COMPREPLY < <(compgen -W '--tree --json --help' -- "$cur") ;;
	reap) mapfile -t COMPREPLY < <(compgen -W '--dry-run --json --help' -- "$cur") ;;
	doctor) mapfile -t COMPREPLY < <(compgen -W '--reap --json --help' -- "$cur") ;;
	demo) mapfile -t COMPREPLY < <(compgen -W '--help' -- "$cur") ;;
	tools | call | resources | read | prompts | ping | status | inspect)
		if _killick_command; then return; fi
		[[ $verb != call ]] || more=--args
		[[ $verb != ping ]] || more=--count
		case $prev in
		--config) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		--server | --timeout | --args | --count) ;;
		*) mapfile -t COMPREPLY < <(compgen -W "--config --server --timeout --json --verbose --help -- $more" -- "$cur") ;;
		esac
		;;
	help) mapfile -t COMPREPLY < <(compgen -W 'run ps reap doctor demo tools call resources read prompts ping status
		inspect' -- "$cur") ;;
	esac
}
complete -F _killick killick
