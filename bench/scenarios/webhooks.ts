// Scoring while 1,000 events a minute go to a webhook, against a webhook without events:
// `npm run bench -- webhooks`. The receiver is a process of its own and answers at once. Each case
// has a database of its own, because every process of a database delivers its events.
import { playScoreContests } from '../lib/score-contest.ts'
import { withEvents } from '../lib/webhook-events.ts'

const ALLOWED = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' }

await playScoreContests(
  'webhooks',
  [0, 1_000].map((perMinute) => {
    const name = `${perMinute} events a minute`
    return {
      name,
      connections: 64,
      contestants: (bench) => [
        withEvents(bench.service(name, bench.singles, ALLOWED), bench, perMinute),
      ],
    }
  }),
  process.argv.slice(2),
)
