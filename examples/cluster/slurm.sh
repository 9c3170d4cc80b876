#!/usr/bin/env bash
# A grid on four machines of a Slurm cluster whose home folder every machine sees:
#
#     sbatch examples/cluster/slurm.sh paper results/paper
#
# When the job's time is up the grid stops with checkpoints; the same command continues it.
#SBATCH --job-name=drspcrl
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=1
#SBATCH --exclusive
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@300
set -euo pipefail

grid=${1:?the name of a grid} out=${2:?its folder}
shift 2
port=$((20000 + SLURM_JOB_ID % 20000))
folder=$(mktemp -d "$PWD/.ray-$SLURM_JOB_ID-XXXXXX")
trap 'rm -rf "$folder"' EXIT
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$folder/token RAY_USAGE_STATS_ENABLED=0
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$folder/token")

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=$(srun --nodes=1 --ntasks=1 --nodelist="${nodes[0]}" hostname --ip-address | awk '{print $1}')

start() {  # node, options of `ray start`: stays until the job ends
    srun --nodes=1 --ntasks=1 --overlap --nodelist="$1" \
        ray start "${@:2}" --num-cpus="$SLURM_CPUS_PER_TASK" --block > "$folder/$1.log" 2>&1 &
}

start "${nodes[0]}" --head --node-ip-address="$head" --port="$port" --include-dashboard=false
until (exec 3<> "/dev/tcp/$head/$port") 2> /dev/null; do sleep 1; done
for node in "${nodes[@]:1}"; do start "$node" --address="$head:$port"; done

# The grid stops with checkpoints when Slurm says that time is nearly up.
drspcrl grid "$grid" --out "$out" --engine ray --address "$head:$port" "$@" &
trap 'kill -TERM $!' TERM
wait $! || wait $!
