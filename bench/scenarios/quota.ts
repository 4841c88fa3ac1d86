// The quota, in Redis and in process, against a service without one: `npm run bench -- quota`.
// Without the score log, whose drain takes processor time too. Nothing is ever refused.
import { playScoreContests } from '../lib/score-contest.ts'

const SCORE_LOG_OFF = '1'
const QUOTA_OFF = '1'

await playScoreContests(
  'quota',
  [
    {
      name: 'quota',
      connections: 64,
      contestants: (bench) => [
        bench.service('off', bench.singles, { SCORE_LOG_OFF, QUOTA_OFF }),
        bench.service('Redis', bench.singles, { SCORE_LOG_OFF }),
        bench.service('in process', bench.singles, { SCORE_LOG_OFF, REDIS_URL: '' }),
      ],
    },
  ],
  process.argv.slice(2),
)
