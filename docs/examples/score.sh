#!/bin/sh
# Scores one applicant with curl alone, and reads the score back from the log.
#
#   URL=http://127.0.0.1:3000 SLUG=dep_… KEY=… ./score.sh A-4711 '{"age_in_years": 35}'
#
# The key needs the scopes `score` and `read`. It goes through a file that only this user can read:
# every user of a machine can see the arguments of a program.
set -eu
: "${URL:?where the service answers}" "${SLUG:?the deployment}" "${KEY:?an API key}"
reference=${1:?the number of the application}
applicant=${2:?the values of its features, as JSON}

umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'header = "Authorization: Bearer %s"\n' "$KEY" >"$work/key"

# --max-time bounds an attempt, --retry-max-time all of them. curl waits as long as Retry-After
# says. Since all attempts have one Idempotency-Key, the applicant is logged once.
ask() {
  curl --silent --show-error --config "$work/key" --header 'Content-Type: application/json' \
    --max-time 5 --retry 4 --retry-connrefused --retry-max-time 20 \
    --output "$work/answer" --write-out '%{http_code}' "$@" >"$work/status"
}

# Shows an answer, and ends with 1 for an error: its `error` is a code to decide by.
show() {
  cat "$work/answer"
  echo
  grep -q '^2' "$work/status"
}

ask "$URL/v1/score/$SLUG" --header "X-Reference-Id: $reference" \
  --header "Idempotency-Key: $reference" --dump-header "$work/headers" --data "$applicant"
show

# The log has it within two seconds.
request_id=$(sed -n 's/^[Xx]-[Rr]equest-[Ii]d: *\(req_[0-9A-Za-z]*\).*/\1/p' "$work/headers" | tail -n 1)
for _ in 1 2 3 4 5; do
  ask "$URL/v1/scores/$request_id"
  ! grep -q '^2' "$work/status" || break
  sleep 1
done
show
