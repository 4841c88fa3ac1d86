import { expect, test } from 'vitest'
import { languageKey, textIn } from '../../../src/engine/index.ts'
import { HeldLanguages } from '../../../src/scoring/language-texts.ts'

const TEXTS = { en: 'low income', es: 'ingresos bajos', 'pt-BR': 'renda baixa' }
const SPEC = {
  reasons: { version: 1, method: 'max' },
  reason_codes: { R1: TEXTS },
  features: [{ bins: [{ label: { de: 'unter 1.000' } }, { label: 'plain' }] }],
} as const
const TAGS = [
  'en',
  'EN-gb',
  'es-MX',
  'es',
  'pt-br',
  'pt',
  'de-AT',
  'fr',
  'x-a',
  'en-A7',
  'pt-BR-x-1',
]

// Callers choose the tags: a tag must not take memory of its own.
test('a card holds no more languages than its texts have, whatever tags callers name', () => {
  const languages = new HeldLanguages(SPEC, 10_000)
  const held = new Set(
    Array.from({ length: 500 }, (_, at) => languages.of(`${TAGS[at % TAGS.length]}-a${at}`)),
  )
  expect(held.size).toBe(4)
  expect(languages.of('es')).toBe(languages.of('es-MX'))
})

test('tags with one key have the same texts', () => {
  const tags = new Set(['en', 'es', 'pt-br', 'de'])
  for (const one of TAGS) {
    for (const other of TAGS) {
      if (languageKey(one, tags) !== languageKey(other, tags)) continue
      for (const texts of [TEXTS, { de: 'unter 1.000' }, 'plain']) {
        expect(textIn(texts, one)).toBe(textIn(texts, other))
      }
    }
  }
})

test('of a card with very many languages, the one that was asked for least lately leaves', () => {
  const names = Array.from({ length: 20 }, (_, at) => `q${String.fromCharCode(97 + at)}`)
  const spec = { ...SPEC, reason_codes: { R1: Object.fromEntries(names.map((n) => [n, n])) } }
  const languages = new HeldLanguages(spec, 10_000)
  const first = languages.of('qa')
  const second = languages.of('qb')
  for (const name of names.slice(2, 8)) languages.of(name)
  expect(languages.of('qa')).toBe(first)
  languages.of('qi')
  expect(languages.of('qa')).toBe(first)
  expect(languages.of('qb')).not.toBe(second)
})
