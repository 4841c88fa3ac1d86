import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { documentOptions } from '../../../src/http/openapi/document.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { noteWriter } from '../../../src/platform/data-dir/data-dir.ts'
import { createLog } from '../../../src/platform/log.ts'
import {
  compareVersions,
  LaterVersionError,
  refuseLater,
  VERSION,
} from '../../../src/platform/version.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { readText } from '../../support/structure/documents.ts'

const { version } = JSON.parse(readText('package.json'))

test('document, metric, program and clients say the version of package.json', async () => {
  const telemetry = new Telemetry({
    tracing: null,
    commit: 'abc',
    clock: systemClock,
    log: createLog('silent'),
  })
  expect(VERSION).toBe(version)
  expect(documentOptions({ publicUrl: null }).openapi?.info?.version).toBe(version)
  expect(await telemetry.metrics.text()).toContain(
    `scoreline_build_info{version="${version}",commit="abc"} 1`,
  )
  expect(JSON.parse(readText('package-lock.json')).packages[''].version).toBe(version)
  expect(JSON.parse(readText('clients/typescript/package.json')).version).toBe(version)
  expect(readText('clients/python/pyproject.toml')).toContain(`\nversion = "${version}"\n`)
  expect(readText('clients/python/src/scoreline/version.py')).toContain(`"${version}"`)
  expect(readText('docker/Dockerfile')).toContain(`scoreline:${version}`)
  expect(/^## \[(.+?)\]/m.exec(readText('CHANGELOG.md'))?.[1]).toBe(version)
})

test.each([
  ['0.10.0', '0.9.9', 1],
  ['0.2.0', '0.2.1', -1],
  ['1.0.0-rc.1', '1.0.0', 0],
])('of %s and %s the later one is found by numbers', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign)
})

describe('data of a later version', () => {
  test.each(['9.9.9', '10.0.0'])('is accepted where the operator names %s', (accepted) => {
    expect(() => refuseLater('the database', '9.9.9', accepted)).not.toThrow()
  })

  // An override that stays in the environment must not cover the release after it.
  test.each([null, '9.9.8', 'unknown'])('is refused where the operator names %s', (accepted) => {
    expect(() => refuseLater('the database', '9.9.9', accepted)).toThrow(LaterVersionError)
  })

  function directory(): string {
    const path = mkdtempSync(join(tmpdir(), 'scoreline-version-'))
    onTestFinished(() => rmSync(path, { recursive: true }))
    return path
  }
  const noted = (path: string) => readFileSync(join(path, 'version'), 'utf8')

  test('a data directory names the latest version that wrote to it', () => {
    const path = directory()
    noteWriter(path, null)
    expect(noted(path)).toBe(`${version}\n`)
    writeFileSync(join(path, 'version'), '0.1.9\n')
    noteWriter(path, null)
    expect(noted(path)).toBe(`${version}\n`)
  })

  test('a data directory of a later version is refused, and keeps its note if accepted', () => {
    const path = directory()
    writeFileSync(join(path, 'version'), '99.0.0\n')
    expect(() => noteWriter(path, null)).toThrow(/99\.0\.0.*is Scoreline \d/)
    noteWriter(path, '99.0.0')
    expect(noted(path)).toBe('99.0.0\n')
    writeFileSync(join(path, 'version'), '')
    expect(() => noteWriter(path, null)).toThrow('Scoreline unknown')
  })
})
