trap '' HUP INT QUIT TERM TSTP
live=' '
while read -r sign mark group; do
  case $sign in
    +) live="$live$mark:$group " ;;
    -) case $live in
         *" $mark:"*) rest=${live#*" $mark:"}; live="${live%%" $mark:"*} ${rest#* }" ;;
       esac ;;
  esac
done
set -- $live
[ $# -gt 0 ] || exit 0
end() {
  signal=$1
  shift
  for one; do
    kill -s "$signal" -- "-${one#*:}"
    for found in $(grep -lsF "FLEMMA_COMMAND=${one%%:*}" /proc/[0-9]*/environ); do
      found=${found#/proc/}
      kill -s "$signal" "${found%/environ}"
    done
  done
}
end TERM "$@"
sleep 1
end KILL "$@"
end KILL "$@"
