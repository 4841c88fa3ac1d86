// A single score over HTTP with everything on, against Fastify alone: `npm run bench -- single`.
// PostgreSQL, quota in Redis, score log in mode `process` and its drain, against a route with none
// of it.
import { playScoreContests } from '../lib/score-contest.ts'

const SCORE_LOG_OFF = '1'
const QUOTA_OFF = '1'

await playScoreContests(
  'single',
  [
    {
      name: 'single',
      connections: 64,
      contestants: (bench) => [
        bench.bare('/single', bench.singles),
        bench.service('everything on', bench.singles),
        bench.service('without log', bench.singles, { SCORE_LOG_OFF }),
        bench.service('without log and quota', bench.singles, { SCORE_LOG_OFF, QUOTA_OFF }),
      ],
    },
  ],
  process.argv.slice(2),
)
