# bash completion for killick(1); see bash-completion for how it is found                -*- shell-script -*-
_killick() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]:-} i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run ps reap doctor demo help --help --version' -- "$cur")
		return
	fi
	case $verb in
	run)
		# behind the dashes the command line is the server's
		for ((i = 2; i < COMP_CWORD; i++)); do
			if [[ ${COMP_WORDS[i]} == -- ]]; then
				if declare -F _command_offset >/dev/null; then
					_command_offset $((i + 1))
				else
					mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
				fi
				return
			fi
		done
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
	help) mapfile -t COMPREPLY < <(compgen -W 'ps reap doctor demo' -- "$cur") ;;
	esac
}
complete -F _killick killick
