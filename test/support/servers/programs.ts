import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where systems keep the browser; `CHROMIUM_PATH` names another place. */
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Where Debian keeps each version of the server; `POSTGRES_BIN` names another directory. */
const SERVERS = '/usr/lib/postgresql'

/** The browser of this machine; null where there is none, which under CI is an error. */
export function chromiumPath(): string | null {
  const { CHROMIUM_PATH: named } = process.env
  const found = (named === undefined ? BROWSERS : [named]).find((path) => existsSync(path))
  return foundOrNull(found, 'Chromium')
}

/** The directory of PostgreSQL's programs; null where there is none, which under CI is an error. */
export function postgresPrograms(): string | null {
  const { POSTGRES_BIN: named } = process.env
  const places = named === undefined ? installedServers() : [named]
  const found = places.find((programs) => existsSync(join(programs, 'initdb')))
  return foundOrNull(found, 'PostgreSQL')
}

/**
 * Whether the scripts of the documents can be pasted; under CI a machine without curl is an error.
 */
export function hasCurl(): boolean {
  const isThere = spawnSync('curl', ['--version']).status === 0
  return foundOrNull(isThere ? 'curl' : undefined, 'curl') !== null
}

/** Whether certificates can be made; under CI a machine without openssl is an error. */
export function hasOpenssl(): boolean {
  const isThere = spawnSync('openssl', ['version']).status === 0
  return foundOrNull(isThere ? 'openssl' : undefined, 'openssl') !== null
}

/** The fuzzer, which `SCHEMATHESIS_PATH` names; null without it, which under CI is an error. */
export function schemathesisPath(): string | null {
  const { SCHEMATHESIS_PATH: named = '' } = process.env
  return foundOrNull(existsSync(named) ? named : undefined, 'Schemathesis')
}

/** The newest first. */
function installedServers(): string[] {
  if (!existsSync(SERVERS)) return []
  return readdirSync(SERVERS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(SERVERS, version, 'bin'))
}

function foundOrNull(found: string | undefined, program: string): string | null {
  if (found === undefined && process.env['CI'] !== undefined) {
    throw new Error(`${program} must be installed where CI is set`)
  }
  return found ?? null
}
