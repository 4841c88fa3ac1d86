import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import type { Team } from '../start/team.ts'

const VERIFIER = 'docs/verify-proof.mjs'
const WAIT_MS_MAX = 60_000
const POLL_MS = 50

/** The answer to a proof as soon as the score is in the database. */
export async function provenBy(
  team: Team,
  requestId: string,
  query = '',
): Promise<LightMyRequestResponse> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const answer = await team.call('GET', `/v1/scores/${requestId}/proof${query}`)
    if (answer.statusCode !== 503 || performance.now() > endMs) return answer
    await delay(POLL_MS)
  }
}

/** Scores applicants one drain after the other, so that each is a block. @returns request ids */
export async function scoreApart(team: Team, slug: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { request_id } = await team.score(slug, { duration_months: n })
    await provenBy(team, request_id)
    ids.push(request_id)
  }
  return ids
}

/** Runs the offline verifier, as an auditor does. */
export function verifyOffline(document: object, key: string, ...checkpoints: string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'proofs-'))
  try {
    const write = (name: string, text: string) => {
      const path = join(directory, name)
      writeFileSync(path, text)
      return path
    }
    const files = checkpoints.map((note, index) => write(`checkpoint-${index}`, note))
    const file = write('document.json', JSON.stringify(document))
    const args = [VERIFIER, file, key, ...files]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    return { isProved: status === 0, stdout, stderr }
  } finally {
    rmSync(directory, { recursive: true })
  }
}
