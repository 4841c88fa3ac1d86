import { expect, test } from 'vitest'
import type { ModelText } from '../../../../src/log/reading/model-text-store.ts'
import { CellModels } from '../../../../src/log/reading/stored-models.ts'
import { card, numeric } from '../../../support/cards/cards.ts'

const MODELS = 2_000

function formatText(modelId: string): ModelText {
  const spec = card([
    numeric('age', [
      ['(-Infinity, 30]', 3],
      ['(30, Infinity)', 5],
    ]),
  ])
  return { modelId, name: 'a card', version: '1', specText: JSON.stringify(spec) }
}

/** A table of models that counts which of them were read. */
function countingTable() {
  const read: string[] = []
  let mostAtOnce = 0
  const modelTexts = async (modelIds: readonly string[]) => {
    read.push(...modelIds)
    mostAtOnce = Math.max(mostAtOnce, modelIds.length)
    return modelIds.filter((modelId) => modelId !== 'mod_none').map(formatText)
  }
  return { modelTexts, read, mostAtOnce: () => mostAtOnce }
}

const IDS = Array.from({ length: MODELS }, (_, index) => `mod_${index}`)

test('each of 2,000 models is read once, however often they take turns', async () => {
  const table = countingTable()
  const models = new CellModels(table)
  for (let round = 0; round < 3; round++) {
    const found = await models.compiled([...IDS, ...IDS])
    expect([...found.keys()].toSorted()).toEqual(IDS.toSorted())
  }
  expect(table.read.toSorted()).toEqual(IDS.toSorted())
  expect(table.mostAtOnce()).toBeLessThanOrEqual(8)
})

test('an unknown model is left out, and asked for again', async () => {
  const table = countingTable()
  const models = new CellModels(table)
  expect([...(await models.compiled(['mod_none', 'mod_1'])).keys()]).toEqual(['mod_1'])
  await models.compiled(['mod_none', 'mod_1'])
  expect(table.read).toEqual(['mod_none', 'mod_1', 'mod_none'])
})

test('a model that many ask for at once is read and compiled once', async () => {
  const table = countingTable()
  const models = new CellModels(table)
  await Promise.all(Array.from({ length: 10 }, () => models.compiled(['mod_1', 'mod_2'])))
  expect(table.read).toEqual(['mod_1', 'mod_2'])
})
