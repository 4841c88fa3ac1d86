import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatPath, ROUTES } from '../scenarios/routes.ts'
import { schemathesisPath } from './programs.ts'

/** What a run calls, and as whom. */
export interface FuzzedService {
  readonly url: string
  /** Token of a caller who may do everything, and whose calls can't end it. */
  readonly token: string
  /** Key with all scopes. */
  readonly key: string
  /** Ids by their names in `ROUTES`. */
  readonly ids: Readonly<Record<string, string>>
}

export interface FuzzRun {
  readonly seed: number
  /** Requests of each operation beside the examples and those that cover its schema. */
  readonly requestsMax: number
}

/** What the program found; `output` says how to send a request again. */
export interface FuzzResult {
  readonly code: number | null
  readonly output: string
  readonly requests: number
}

/**
 * Operations that are not called: a webhook with an address that the program makes up would send to
 * a server of somebody else.
 */
const LEFT_OUT = ['webhooks.create', 'webhooks.update', 'webhooks.test', 'webhooks.replay']
const HOOKS = fileURLToPath(new URL('../../peers/schemathesis/hooks.py', import.meta.url))
/** How often a parameter has the value that is there, and not one that the program makes up. */
const KNOWN_SHARE = 0.7

/** Calls every operation of the service's document, and holds the answers against the document. */
export async function runSchemathesis(service: FuzzedService, run: FuzzRun): Promise<FuzzResult> {
  const folder = await mkdtemp(join(tmpdir(), 'scoreline-schemathesis-'))
  try {
    const config = join(folder, 'schemathesis.toml')
    const report = join(folder, 'report.ndjson')
    await writeFile(config, configText(service, run, report))
    const program = schemathesisPath() ?? ''
    const args = ['--config-file', config, 'run', `${service.url}/openapi.json`]
    const { code, output } = await readOutput(program, args, folder)
    const events = await readFile(report, 'utf8').catch(() => '')
    return { code, output, requests: events.split('"status_code":').length - 1 }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @source https://schemathesis.readthedocs.io/en/stable/reference/configuration/ */
function configText({ token, key, ids }: FuzzedService, run: FuzzRun, report: string): string {
  const rows = Object.keys(ROUTES).flatMap((row) => {
    const { method, path } = formatPath(row)
    const names = [...path.matchAll(/<(\w+)>/g)].flatMap(([, name = '']) => name)
    const params = [...row.matchAll(/:(\w+)/g)].flatMap(([, name = '']) => name)
    return names.flatMap((name, at) =>
      ids[name] === undefined ? [] : [{ method, row, name, param: params[at] ?? '' }],
    )
  })
  const names = [...new Set(rows.map(({ name }) => name))]
  return [
    `seed = ${run.seed}`,
    'color = false',
    `hooks = ${text(HOOKS)}`,
    'continue-on-failure = true',
    // Two threads that read Python code at the same time end with a SystemError in Python up to
    // 3.11.7 (python/cpython#106905), which Debian 12 has.
    'workers = 1',
    'request-timeout = 60',
    // Long texts and bodies are wanted.
    'suppress-health-check = ["all"]',
    '[generation]',
    `max-examples = ${run.requestsMax}`,
    'no-shrink = true',
    'database = "none"',
    '[auth.openapi]',
    `accessToken = { bearer = ${text(token)} }`,
    `apiKey = { bearer = ${text(key)} }`,
    '[phases.stateful]',
    'enabled = false',
    '[checks]',
    'enabled = false',
    ...CHECKS.map((name) => `${name}.enabled = true`),
    '[reports.ndjson]',
    `path = ${text(report)}`,
    '[dictionaries]',
    ...names.map((name) => `${name} = { values = [${text(ids[name] ?? '')}] }`),
    '[[operations]]',
    `include-operation-id = [${LEFT_OUT.map(text).join(', ')}]`,
    'enabled = false',
    ...rows.flatMap(({ method, row, name, param }) => [
      '[[operations]]',
      `include-name = ${text(`${method} ${row.split(' ')[1]?.replace(/:(\w+)/g, '{$1}')}`)}`,
      `parameters = { "path.${param}" = { dictionary = ${text(name)}, probability = ${KNOWN_SHARE} } }`,
    ]),
  ].join('\n')
}

/** What an answer is held against; the tests of each operation ask for more. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

/** A string of TOML. */
function text(value: string): string {
  return JSON.stringify(value)
}

function readOutput(program: string, args: readonly string[], cwd: string) {
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        output += part
      })
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
