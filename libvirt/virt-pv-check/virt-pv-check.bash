# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion of virt-pv-check.
_virt_pv_check() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
	COMPREPLY=()
	case $COMP_CWORD,$prev in
	1,*) words="host domain migrate fleet hook --help" ;;
	*,--format) words="table json" ;;
	*,-c | *,--connect | *,--timeout) return ;;
	*,--from | *,--to | *,--policy | *,--emulator | *,--state)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	if [ -z "$words" ]; then
		case $command in
		host) words="--connect --emulator --policy --format" ;;
		domain) words="--connect --agent --monitor --format" ;;
		migrate) words="--connect --from --to --policy --explain --monitor --emulator --format" ;;
		fleet) words="--policy --plan --emulator --format" ;;
		hook) words="--policy --state --timeout" ;;
		esac
		words+=" --help"
		if [[ $cur != -* ]]; then
			case $command in
			domain | migrate) words=$(virsh -q list --all --name 2>/dev/null) ;;
			*) words= ;;
			esac
			[ "$command" = domain ] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
	fi
	local more
	mapfile -t more < <(compgen -W "$words" -- "$cur")
	COMPREPLY+=("${more[@]}")
}
complete -o filenames -F _virt_pv_check virt-pv-check
