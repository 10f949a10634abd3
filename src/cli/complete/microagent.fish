# SPDX-License-Identifier: MIT
# Completion of microagent for fish, which `microagent __complete` says the words of.

function __microagent_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct | string unescape)
    set -l option (string match -r '^--[^=]*=' -- "$typed")
    set -l path (string replace -r '^--[^=]*=' '' -- "$typed")

    for line in ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case :files
                printf '%s\n' "$option"(__fish_complete_path "$path")
            case :dirs
                printf '%s\n' "$option"(__fish_complete_directories "$path" '')
            case '*'
                echo $line
        end
    end
end
complete -c microagent -f -a '(__microagent_complete)'
