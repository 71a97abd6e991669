# Reads `add GROUP` and `end GROUP`, and at the end of its input kills the process groups that are left.
groups=
while read -r word group; do
  case $word in
  add) groups="$groups $group" ;;
  end)
    kept=
    for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
    groups=$kept
    ;;
  esac
done
for one in $groups; do kill -s KILL -- "-$one"; done
