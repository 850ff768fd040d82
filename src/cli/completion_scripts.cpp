// The shell side of completion. Each script calls `pawl __complete -- WORDS...` and shows the answer. Its first line
// says what the shell adds (nothing, files, folders or programs, with an optional prefix); the other lines are WORD TAB
// HELP.
#include "cli/completion.hpp"

namespace pawl::cli {
namespace {

// bash splits words at = and : and @. They are joined again for pawl, and the answer is cut where bash had split.
constexpr std::string_view kBash = R"SCRIPT(# bash completion for pawl, made by `pawl completion bash`
_pawl() {
    local line=${COMP_LINE:0:COMP_POINT} program=${COMP_WORDS[0]} words=() word='' i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i -eq 0 || $line == [[:space:]]* ]]; then
            line=${line#"${line%%[![:space:]]*}"}
            words+=('')
        fi
        ((i < COMP_CWORD)) || word=$line
        words[${#words[@]}-1]+=$word
        line=${line#"$word"}
    done
    [[ $word == [=:@] ]] && word=
    local typed=${words[${#words[@]}-1]}
    local cut=${typed%"$word"}
    [[ $program == '~/'* ]] && program=$HOME/${program:2}
    type -t -- "$program" >/dev/null || program=pawl

    local answer=() reply
    mapfile -t answer < <("$program" __complete -- "${words[@]:1}" 2>/dev/null)
    COMPREPLY=()
    for reply in "${answer[@]:1}"; do
        reply=${reply%%$'\t'*}
        COMPREPLY+=("${reply#"$cut"}")
    done
    case ${answer[0]-} in
        files*) compopt -o default 2>/dev/null ;;
        folders*) compopt -o dirnames -o nospace 2>/dev/null ;;
        programs*) mapfile -t COMPREPLY < <(compgen -c -- "$typed") ;;
    esac
    return 0
}
complete -F _pawl pawl
)SCRIPT";

constexpr std::string_view kZsh = R"SCRIPT(#compdef pawl
# zsh completion for pawl, made by `pawl completion zsh`
_pawl() {
    local -a before answer found
    local line word help
    before=(${words[2,CURRENT-1]})
    answer=("${(@f)$(${(Q)words[1]} __complete -- "${(@Q)before}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${(@)answer[2,-1]}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*}
        help=${line#*$'\t'}
        found+=("${word//:/\\:}:$help")
    done
    case ${answer[1]} in
        files*) [[ ${answer[1]} == *= ]] && compset -P '*='; _files; return ;;
        folders*) [[ ${answer[1]} == *= ]] && compset -P '*='; _path_files -/; return ;;
        programs*) _command_names -e; return ;;
    esac
    (( ${#found} )) && _describe -V pawl found
}
if [[ ${funcstack[1]} == _pawl ]]; then
    _pawl "$@"
else
    compdef _pawl pawl
fi
)SCRIPT";

constexpr std::string_view kFish = R"SCRIPT(# fish completion for pawl, made by `pawl completion fish`
function __pawl_complete
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer ($before[1] __complete -- $before[2..-1] "$typed" 2>/dev/null)
    set -l prefix (string replace -r '^\w+ ?' '' -- "$answer[1]")
    set -l rest (string sub -s (math (string length -- "$prefix") + 1) -- "$typed")
    switch "$answer[1]"
        case 'files*'
            printf "$prefix%s\n" (__fish_complete_path "$rest")
        case 'folders*'
            printf "$prefix%s\n" (__fish_complete_directories "$rest")
        case 'programs*'
            complete -C "$typed"
    end
    set -e answer[1]
    test (count $answer) -eq 0; or printf '%s\n' $answer
end
complete -c pawl -f -k -a '(__pawl_complete)'
)SCRIPT";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

}  // namespace pawl::cli
