import type { Static } from '@sinclair/typebox'
import type { TokenResult } from '../../schemas/auth.ts'
import type { LoadedServer } from './bench-server.ts'
import type { Contestant } from './contest.ts'
import type { ScoreBench } from './score-bench.ts'

const DAY_MS = 86_400_000

/**
 * The contestant, with so many pages of the console open on the first deployment, until its server
 * ends.
 */
export function withPages(contestant: Contestant, bench: ScoreBench, pages: number): Contestant {
  return {
    ...contestant,
    start: async (round) => {
      const server = await contestant.start(round)
      await openPages(server, bench, pages)
      return server
    },
  }
}

/**
 * Asks what a page asks: stats and series each 5 s, the deployment each 10, the comparison each 15.
 */
async function openPages(server: LoadedServer, bench: ScoreBench, pages: number): Promise<void> {
  const login = await fetch(`${server.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bench.owner),
  })
  // The service's own schema describes the answer.
  const { access_token: token } = (await login.json()) as Static<typeof TokenResult>
  const slug = bench.singles[0]?.path.split('/').at(-1)
  const ask = async (end: string) => {
    const url = `${server.url}/v1/deployments/${slug}${end}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`void: a page was answered ${response.status}`)
  }
  const every = (seconds: number, ends: () => readonly string[], delayMs: number) => {
    const turn = async () => {
      try {
        await Promise.all(ends().map(ask))
      } catch (error) {
        // The server has ended, and the pages with it.
        if (error instanceof TypeError) return
        throw error
      }
      setTimeout(turn, 1000 * seconds).unref()
    }
    setTimeout(turn, delayMs).unref()
  }
  const from = () => `?from=${new Date(Date.now() - DAY_MS).toISOString()}`
  for (let page = 0; page < pages; page++) {
    // Nobody opens them all at once.
    const delayMs = (5_000 * page) / pages
    every(5, () => [`/stats${from()}`, `/stats/series${from()}`], delayMs)
    every(10, () => [''], delayMs)
    every(15, () => [`/stats/models${from()}`], delayMs)
  }
}
