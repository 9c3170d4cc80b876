#!/usr/bin/env bash
# A Ray cluster of this machine and others that SSH reaches, for `drspcrl grid --engine ray`.
#
#     examples/cluster/ssh_nodes.sh up 10.0.0.1 node-1 node-2     # this machine's address, the others
#     drspcrl grid paper --out results/paper --engine ray --address 10.0.0.1:6379
#     examples/cluster/ssh_nodes.sh down 10.0.0.1 node-1 node-2
#
# Every machine has the same drspcrl[ray], found by DRSPCRL_BIN (a folder with `ray`; PATH unless
# given). A token that is made here and copied by SSH keeps others out; traffic is not encrypted, so
# use a network that you trust.
set -euo pipefail

action=${1:?up or down} head=${2:?the address of this machine} port=${PORT:-6379}
shift 2
bin=${DRSPCRL_BIN:+$DRSPCRL_BIN/}
token=${RAY_AUTH_TOKEN_PATH:-$HOME/.drspcrl-ray-token}
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$token RAY_USAGE_STATS_ENABLED=0
there="env RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$token RAY_USAGE_STATS_ENABLED=0 ${bin}ray"

case $action in
up)
    key=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
    (umask 077 && printf %s "$key" > "$token")
    "${bin}ray" start --head --node-ip-address="$head" --port="$port" --include-dashboard=false \
        --disable-usage-stats
    for node in "$@"; do
        printf %s "$key" | ssh "$node" "umask 077; cat > $token"
        ssh "$node" "$there start --address=$head:$port"
    done
    echo "export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$token"
    echo "drspcrl grid … --engine ray --address $head:$port"
    ;;
down)
    for node in "$@"; do ssh "$node" "$there stop"; done
    "${bin}ray" stop
    ;;
*)
    echo "give up or down, not $action" >&2
    exit 2
    ;;
esac
