import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newSecret, secretText, signedHeaders } from '../../../../src/jobs/webhooks/attempt.ts'
import { readText } from '../../../support/structure/documents.ts'

const run = promisify(execFile)
const body = '{"type":"deployment.promoted","data":{"name":"größer"}}'

/** An example as a program that reads a case and prints the event, or fails. */
interface Language {
  readonly name: string
  /** Below docs/examples. */
  readonly file: string
  readonly isTested: boolean
  /** @returns the command that takes a case as its last argument */
  readonly makeProgram: (code: string, directory: string) => Promise<readonly string[]>
}

const LANGUAGES: readonly Language[] = [
  {
    name: 'js',
    file: 'verify-event.mjs',
    isTested: true,
    makeProgram: async (code, directory) => {
      const end = `
const [secret, headers, body] = JSON.parse(process.argv[2])
console.log(JSON.stringify(verify(secret, headers, body)))`
      return [process.execPath, written(directory, 'receiver.mjs', code + end)]
    },
  },
  {
    name: 'python',
    file: 'verify_event.py',
    // With CI set, everything that the tests use has to be there.
    isTested: isThere('python3') || process.env['CI'] !== undefined,
    makeProgram: async (code, directory) => {
      const end = `
import sys
secret, headers, body = json.loads(sys.argv[1])
print(json.dumps(verify(secret, headers, body.encode())))`
      return ['python3', written(directory, 'receiver.py', code + end)]
    },
  },
  {
    name: 'go',
    file: 'verify_event.go',
    isTested: true,
    makeProgram: async (code, directory) => {
      mkdirSync(join(directory, 'events'))
      written(directory, 'events/events.go', code)
      written(directory, 'go.mod', 'module receiver\n\ngo 1.21\n')
      written(
        directory,
        'main.go',
        `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"receiver/events"
)

func main() {
	var order []json.RawMessage
	var secret, body string
	var names map[string]string
	json.Unmarshal([]byte(os.Args[1]), &order)
	json.Unmarshal(order[0], &secret)
	json.Unmarshal(order[1], &names)
	json.Unmarshal(order[2], &body)
	header := http.Header{}
	for name, value := range names {
		header.Set(name, value)
	}
	if err := events.Verify(secret, header, []byte(body)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(body)
}
`,
      )
      const env = { ...process.env, GOTOOLCHAIN: 'local' }
      await run('go', ['build', '-o', 'receiver'], { cwd: directory, env })
      return [join(directory, 'receiver')]
    },
  },
]

function written(directory: string, file: string, text: string): string {
  const path = join(directory, file)
  writeFileSync(path, text)
  return path
}

function isThere(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Go is run by hand, with `SCORELINE_TEST_GO`: its first compilation takes a minute. */
const RUN = LANGUAGES.filter(
  ({ name }) => name !== 'go' || process.env['SCORELINE_TEST_GO'] !== undefined,
)

// Receivers copy this code: a mistake in it would refuse messages, or accept forged ones.
describe.each(RUN)('the verification in $name', ({ file, isTested, makeProgram }) => {
  test.skipIf(!isTested)('accepts a message, and no other', async () => {
    const code = readText(`docs/examples/${file}`)
    const directory = mkdtempSync(join(tmpdir(), 'scoreline-events-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const [command = '', ...args] = await makeProgram(code, directory)
    const verify = async (...order: readonly unknown[]) => {
      const { stdout } = await run(command, [...args, JSON.stringify(order)])
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
