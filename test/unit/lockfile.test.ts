import { readFileSync } from 'node:fs'
import { satisfies } from 'semver'
import { expect, test } from 'vitest'

interface Locked {
  readonly engines?: { readonly node?: string }
  /** npm leaves out an optional package that does not fit, without a word. */
  readonly optional?: boolean
  readonly integrity?: string
  /** A folder of this repository. */
  readonly link?: boolean
  /** Part of another package's file, which has the hash. */
  readonly inBundle?: boolean
}

const LOCK = new URL('../../package-lock.json', import.meta.url)
/** The oldest line that the documentation names, at its last release. */
const OLDEST_NODE = '20.20.2'

// npm checks the Node that it runs on itself, and warns of each package that wants a newer one.
test('every package installs on the oldest Node without a warning', () => {
  const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as {
    packages: Readonly<Record<string, Locked>>
  }
  const refusing = Object.entries(packages)
    .filter(([, { optional }]) => optional !== true)
    .map(([path, { engines }]) => [path, engines?.node ?? '*'] as const)
    .filter(([, range]) => !satisfies(OLDEST_NODE, range))
  expect(Object.keys(packages).length).toBeGreaterThan(200)
  expect(refusing).toEqual([])
})

// A package whose hash is not checked can be replaced on its way.
test('every package has its hash', () => {
  const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as {
    packages: Readonly<Record<string, Locked>>
  }
  const without = Object.entries(packages)
    .filter(([path, { inBundle, link }]) => path.includes('node_modules/') && !inBundle && !link)
    .filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
    .map(([path]) => path)
  expect(without).toEqual([])
})
