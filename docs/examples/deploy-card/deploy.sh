#!/usr/bin/env bash
# Brings a scorecard from a repository into production: check, import, smoke score, then shadow mode
# or promotion. It needs bash, curl and Node, and changes nothing before the check agrees.
#
#   SCORELINE_URL     where the service answers
#   SCORELINE_TOKEN   token of a service account with the role admin
#   SCORELINE_KEY     API key of the environment staging with the scope score
#   DEPLOYMENT        slug of the deployment in production
#   MODE              shadow (the card runs beside the champion) or promote
#   RELEASE           what names this change, such as the commit: a job that runs again within a day
#                     does nothing twice
#
#   ./deploy.sh CARD_FOLDER
#
# The folder holds card.csv (or .json, the file of the tool), options.json (fields of
# POST /v1/models/import without `card` and `sample`; `accept_unreached` for bins that no applicant
# of the sample reaches), sample.csv (or .ndjson, applicants with the scores of the tool), and
# smoke.json ({"applicant": {…}, "score": …}). `scoreline init` of the Python client writes such a
# folder from a fitted card.
set -euo pipefail
: "${SCORELINE_URL:?}" "${SCORELINE_TOKEN:?}" "${SCORELINE_KEY:?}" "${DEPLOYMENT:?}" "${RELEASE:?}"
MODE=${MODE:-shadow}
folder=${1:?folder of the card}
case $MODE in shadow | promote) ;; *)
  echo "MODE is $MODE: shadow or promote" >&2
  exit 2
  ;;
esac

umask 077
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# call METHOD PATH [BODY [SECRET]]: prints the answer; an error of the service ends the script.
# Each step has its own Idempotency-Key, made of the release, the path and the body.
call() {
  local method=$1 path=$2 body=${3:-} secret=${4:-$SCORELINE_TOKEN} status key
  printf 'header = "Authorization: Bearer %s"\n' "$secret" >"$work/secret"
  printf '%s' "$body" >"$work/body"
  key=$(printf '%s' "$RELEASE $method $path $body" | sha256sum | cut -c 1-64)
  status=$(curl --silent --show-error --config "$work/secret" --request "$method" \
    --header 'Content-Type: application/json' --header "Idempotency-Key: $key" \
    --max-time 60 --retry 5 --retry-connrefused --retry-max-time 180 \
    ${body:+--data-binary "@$work/body"} \
    --output "$work/answer" --write-out '%{http_code}' "$SCORELINE_URL$path")
  if [ "$status" -ge 400 ]; then
    echo "$method $path: $status $(cat "$work/answer")" >&2
    return 1
  fi
  cat "$work/answer"
}

# js EXPRESSION: evaluates it with `a`, the JSON of standard input. Each expression stands in this
# file; the answer of the service is only ever data.
js() { node -e 'const a = JSON.parse(fs.readFileSync(0, "utf8")); console.log(eval(process.argv[1]))' "($1)"; }

# order MORE: the body of an import.
order() {
  node -e '
    const [folder, more] = process.argv.slice(1)
    const text = (name) => {
      const file = fs.readdirSync(folder).find((one) => one.startsWith(`${name}.`))
      return fs.readFileSync(`${folder}/${file}`, "utf8")
    }
    const { accept_unreached, ...options } = JSON.parse(text("options"))
    const files = { card: text("card"), sample: text("sample") }
    const order = { ...options, ...files, ...JSON.parse(more) }
    if (accept_unreached && order.register) order.register.accept_unreached = true
    console.log(JSON.stringify(order))' "$folder" "$1"
}

echo '1. Check: the card gives the same scores as the tool.'
call POST /v1/models/import "$(order '{}')" >"$work/checked"
js '`   ${a.parity?.equal} of ${a.parity?.rows} rows equal to the bit, ${a.faults.length} faults`' <"$work/checked"
if [ "$(js 'a.parity?.agrees === true' <"$work/checked")" != true ]; then
  js 'JSON.stringify({ faults: a.faults, differences: a.differences }, null, 2)' <"$work/checked" >&2
  exit 1
fi

echo '2. Import into staging, with a deployment.'
call POST /v1/models/import \
  "$(order '{"register": {"environment": "staging", "auto_deploy": true}}')" >"$work/imported"
model=$(js 'a.registered.model_id' <"$work/imported")
staging=$(js 'a.registered.deployment.slug' <"$work/imported")
echo "   $model behind $staging"

echo '3. Smoke score: staging gives the expected score to the bit.'
applicant=$(js 'JSON.stringify({ ...a.applicant, strict_mode: true })' <"$folder/smoke.json")
expected=$(js 'a.score' <"$folder/smoke.json")
call POST "/v1/score/$staging" "$applicant" "$SCORELINE_KEY" >"$work/scored"
actual=$(js 'a.score' <"$work/scored")
echo "   $actual, expected $expected"
[ "$actual" = "$expected" ]

echo '4. Copy into production, with the certificate of the check.'
copy=$(call POST "/v1/models/$model/copies" '{"environment": "production"}' | js 'a.model_id')
echo "   $copy"

echo '5. Challenger in shadow mode: it scores every applicant and decides on none.'
call GET "/v1/deployments/$DEPLOYMENT" >"$work/deployment"
if [ "$(js 'a.challengers.length > 0 && !a.shadow_mode' <"$work/deployment")" = true ]; then
  echo "   $DEPLOYMENT has a live split under way: end it first" >&2
  exit 1
fi
# waits FILE: whether the change waits for a second person, who decides in the console.
waits() { [ "$(js '"state" in a' <"$1")" = true ]; }
if [ "$(js 'a.shadow_mode' <"$work/deployment")" != true ]; then
  call PATCH "/v1/deployments/$DEPLOYMENT/traffic" \
    '{"action": "toggle_shadow", "shadow_mode": true}' >"$work/shadow"
  if waits "$work/shadow"; then
    echo "   $(js 'a.id' <"$work/shadow") waits for approval: run this again when it is approved"
    exit 0
  fi
fi
challenger=$(js "a.challengers.find((one) => one.model_id === '$copy')?.id ?? ''" <"$work/deployment")
if [ -z "$challenger" ]; then
  call PATCH "/v1/deployments/$DEPLOYMENT/traffic" \
    "{\"action\": \"add_challenger\", \"model_id\": \"$copy\", \"traffic_pct\": 1}" >"$work/added"
  if waits "$work/added"; then
    echo "   $(js 'a.id' <"$work/added") waits for approval: run this again when it is approved"
    exit 0
  fi
  challenger=$(js 'a.challenger.id' <"$work/added")
fi
echo "   $challenger"
[ "$MODE" = promote ] || exit 0

echo '6. Promotion.'
call POST "/v1/deployments/$DEPLOYMENT/promote" \
  "{\"challenger_id\": \"$challenger\", \"reason\": \"release $RELEASE\"}" >"$work/promoted"
if waits "$work/promoted"; then echo "   $(js 'a.id' <"$work/promoted") waits for approval"; else
  echo "   champion is $(js 'a.promoted_model_id' <"$work/promoted"), before $(js 'a.previous_champion_id' <"$work/promoted")"
fi
