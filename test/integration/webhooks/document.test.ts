import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newSecret, secretText, signedHeaders } from '../../../src/webhooks/signature.ts'
import { blocksOf, textOf } from '../../support/structure/documents.ts'

const run = promisify(execFile)
const body = '{"type":"deployment.promoted","data":{"name":"größer"}}'

/** How a program in a language reads a case and prints what its verification returns. */
const PROGRAMS = {
  js: {
    command: process.execPath,
    file: 'receiver.mjs',
    end: `
const [secret, headers, body] = JSON.parse(process.argv[2])
console.log(JSON.stringify(verify(secret, headers, body)))`,
  },
  python: {
    command: 'python3',
    file: 'receiver.py',
    end: `
import sys
secret, headers, body = json.loads(sys.argv[1])
print(json.dumps(verify(secret, headers, body.encode())))`,
  },
} as const

function isThere(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

// Receivers copy this code: a mistake in it would refuse messages, or accept forged ones.
describe.each(Object.entries(PROGRAMS))('the verification in %s', (language, program) => {
  const { command, file, end } = program

  test.skipIf(!isThere(command))('accepts a message, and no other', async () => {
    const [code = ''] = blocksOf(textOf('docs/events.md'), language)
    const directory = mkdtempSync(join(tmpdir(), 'scoreline-events-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const path = join(directory, file)
    writeFileSync(path, code + end)
    const verify = async (...order: readonly unknown[]) => {
      const { stdout } = await run(command, [path, JSON.stringify(order)])
      return JSON.parse(stdout)
    }
    const secrets = [newSecret(), newSecret()]
    const nowSec = Math.floor(Date.now() / 1_000)
    const headersAt = (timestampSec: number) =>
      signedHeaders({ id: 'evt_1', timestampSec, body }, secrets)
    for (const secret of secrets) {
      expect(await verify(secretText(secret), headersAt(nowSec), body)).toEqual(JSON.parse(body))
    }
    const [secret = ''] = secrets.map(secretText)
    const headers = headersAt(nowSec)
    for (const wrong of [
      [secretText(newSecret()), headers, body],
      [secret, headers, body.replace('promoted', 'updated')],
      [secret, { ...headers, 'webhook-id': 'evt_2' }, body],
      [secret, headersAt(nowSec - 310), body],
      [secret, headersAt(nowSec + 360), body],
      [secret, { ...headers, 'webhook-signature': '' }, body],
    ]) {
      await expect(verify(...wrong)).rejects.toThrow()
    }
  })
})
