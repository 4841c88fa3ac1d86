import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** What must hold of statistics, outcomes, proofs, replay and backtest, and which tests hold it. */
const PROPERTIES: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  'the stability index is symmetric, 0 for equal shares alone, and never raised by joined cells': [
    [
      'test/unit/reports/monitoring/statistics/population-stability.test.ts',
      'an index is symmetric, not negative, and the sum of its cells',
    ],
    [
      'test/unit/reports/monitoring/statistics/population-stability.test.ts',
      'an index is 0 where the shares are equal, and nowhere else',
    ],
    [
      'test/unit/reports/monitoring/statistics/population-stability.test.ts',
      'two cells as one never raise an index',
    ],
  ],
  'the points that features moved add up to the difference of the mean scores': [
    [
      'test/http/reports/monitoring/stability.test.ts',
      'with dedupe=%s every figure equals a recount of the exported rows',
    ],
  ],
  'AUC, KS and standard error follow from counts, in any order of the rows, also with ties alone': [
    [
      'test/unit/reports/performance/statistics.test.ts',
      'any order of the rows gives the same bits, and a mirrored card the same figures',
    ],
    [
      'test/unit/reports/performance/statistics.test.ts',
      'one score for all tells nothing apart, and has no interval',
    ],
    ['test/unit/reports/performance/reference.test.ts', 'have the discrimination of the libraries'],
  ],
  'swap cells add up, are exchanged with the models, and are empty for equal models': [
    [
      'test/unit/reports/monitoring/swap-set.test.ts',
      'the cells add up to all applicants by the rule %s',
    ],
    [
      'test/unit/reports/monitoring/swap-set.test.ts',
      'exchanging champion and challenger exchanges those who are swapped in and out',
    ],
    ['test/unit/reports/monitoring/swap-set.test.ts', 'equal models swap nobody by the rule %s'],
  ],
  'outcomes in any order and repetition give one state, and one report as known at a time': [
    [
      'test/http/outcomes/send.test.ts',
      'any order and any repetition of outcomes gives the same report',
    ],
    [
      'test/http/outcomes/send.test.ts',
      'each item is judged by itself, and the counts add up to what was sent',
    ],
    [
      'test/http/outcomes/send.test.ts',
      'an outcome that comes before its score is attached once the score is there',
    ],
    [
      'test/http/reports/performance/rescored.test.ts',
      'random histories have the report of an independent recount',
    ],
    [
      'test/faults/log/archive/outcomes.test.ts',
      'random histories keep their report when the log is archived, and when it has left',
    ],
    [
      'test/faults/outcomes/import-kills.test.ts',
      'a file of outcomes counts each line once, over kills in the middle',
    ],
  ],
  'rollups equal a recount of the log, also after a kill': [
    [
      'test/integration/log/store.test.ts',
      'a crash between the commit and its acknowledgement loses and doubles nothing',
    ],
    ['test/faults/log/answered-and-logged.test.ts', 'every answer is logged once, over'],
    ['test/faults/log/merging.test.ts', 'each request is in the log once after'],
  ],
  'proofs hold for every tree to 64 leaves, and one flipped bit anywhere is found': [
    [
      'test/unit/log/proof/merkle.test.ts',
      'roots and all proofs are those of another implementation',
    ],
    [
      'test/unit/log/proof/offline-verifier.test.ts',
      'the verifier for auditors accepts each proof of each tree to 64 leaves',
    ],
    [
      'test/unit/log/proof/offline-verifier.test.ts',
      'one flipped bit anywhere in leaf, path or note is found',
    ],
    [
      'test/integration/log/changed-columns.test.ts',
      'a change of any column of %s where %s is found',
    ],
  ],
  'a replay equals the log to the bit, and one unit in the last place of a card is caught': [
    [
      'test/http/reports/replay/replays.test.ts',
      'a replay finds every result of every model identical, to the bit',
    ],
    [
      'test/unit/reports/replay/changed-card.test.ts',
      'one unit in the last place of any point of a card is caught',
    ],
  ],
  'a backtest of the logged card gives its bits, and bounds hold the truth and are attained': [
    [
      'test/unit/reports/backtest/backtest.test.ts',
      'that is the logged card gives identical bits, and nobody swaps',
    ],
    ['test/unit/reports/backtest/backtest.test.ts', 'the true score lies within the bounds'],
    [
      'test/unit/reports/backtest/backtest.test.ts',
      'some values with the same logged bins attain both bounds',
    ],
    [
      'test/http/backtests.test.ts',
      'a re-pointed card is what a deployment of it answers, to the bit',
    ],
    ['test/http/backtests.test.ts', 'a %s card holds against what a deployment of it answers'],
  ],
}

// A property whose test was renamed or removed is held by nothing.
test.each(Object.entries(PROPERTIES))('%s: a test holds it', (_, held) => {
  for (const [file, title] of held) {
    expect(readFileSync(file, 'utf8').includes(title), `${file}: ${title}`).toBe(true)
  }
})
