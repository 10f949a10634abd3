# SPDX-License-Identifier: MIT
# Completion of microagent for bash, which `microagent __complete` says the words of.

_microagent() {
	local line=$COMP_LINE words=() word left about

	# Bash takes words apart at "=" and ":" too; what stands side by side is one. Backslashes are quotes.
	for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if [[ ${#words[@]} -eq 0 || $line == [[:space:]]* ]]; then
			words+=("${word//\\/}")
		else
			words[-1]+=${word//\\/}
		fi
		line=${line#"${line%%[![:space:]]*}"}
		line=${line#"$word"}
	done
	# Of the last one it replaces what is behind these.
	left=${words[-1]}
	[[ $left == *["=:"]* ]] && left=${left%"${left##*["=:"]}"} || left=""

	COMPREPLY=()
	while IFS=$'\t' read -r word about; do
		case $word in
		:files) compopt -o default ;;
		:dirs) compopt -o dirnames ;;
		*)
			[[ $word == *: ]] && compopt -o nospace
			printf -v word %q "${word#"$left"}"
			COMPREPLY+=("$word")
			;;
		esac
	done < <("$1" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _microagent microagent
