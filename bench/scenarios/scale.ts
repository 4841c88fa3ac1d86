// 1,000 deployments and 10,000 keys in turn, against one of each: `npm run bench -- scale`. All of
// them are warm before the first slice.
import type { LoadRequest } from '../lib/load.ts'
import { playScoreContests } from '../lib/score-contest.ts'

await playScoreContests(
  'scale',
  [
    {
      name: 'scale',
      connections: 64,
      deployments: 1000,
      keys: 10_000,
      contestants: (bench) => [
        bench.service('one deployment, one key', onFirst(bench.singles)),
        bench.service('1,000 deployments, 10,000 keys', bench.singles),
      ],
    },
  ],
  process.argv.slice(2),
)

/** The same bodies, all of them to the first deployment. */
function onFirst(requests: readonly LoadRequest[]): LoadRequest[] {
  const { path = '', keySecret = '' } = requests[0] ?? {}
  return requests.map(({ body }) => ({ path, keySecret, body }))
}
