import { expect, test } from 'vitest'
import {
  type Certificate,
  certificateRows,
  gapText,
  isCertificate,
  verdictText,
} from '../../../src/console/app/ui/parity/text.ts'

const certificate: Certificate = {
  pd_checked: true,
  pd_fitted: false,
  pd_rows: 1_000,
  tool: 'toad',
  agrees: true,
  rows: 1_000,
  equal: 998,
  within_rounding: 2,
  within_tolerance: 0,
  differing: 0,
  differing_by: { score: 0, points: 0, pd: 0 },
  mean_difference: 0,
  mean_difference_max: null,
  mean_pd: null,
  scale: null,
  bins: 9,
  bins_unreached: 0,
  unreached: [],
  largest_difference: 1.1e-13,
  tolerance: 0,
  compared_features: 3,
  largest_pd_difference: 0,
  card_sha256: 'c',
  sample_sha256: 's',
  spec_sha256: 'p',
}

test('a certificate is summed up in one sentence: what agrees, or how much does not', () => {
  expect(verdictText(certificate)).toBe('All 1,000 rows of the sample score as in toad.')
  const differing = { ...certificate, agrees: false, differing: 20 }
  expect(verdictText(differing)).toBe('20 of 1,000 rows of the sample do not score as in toad.')
})

// Equal scores under an invented scale prove nothing about probabilities.
test('a check that left probabilities out says so', () => {
  expect(gapText(certificate)).toBeNull()
  expect(gapText({ ...certificate, pd_checked: false, pd_rows: 3 })).toBe(
    'Probabilities of default were not checked: the sample does not have them for every row.',
  )
})

// A sample that has every `pd` is not to blame where the model has no scale.
test('a check that compared no probability blames neither the model nor the sample alone', () => {
  const none = { ...certificate, largest_pd_difference: null }
  expect(gapText({ ...none, pd_checked: false, pd_rows: 0 })).toBe(
    'Probabilities of default were not compared: the model or the sample has none.',
  )
})

// A scale that is fitted to a sample agrees with it, whatever the next sample says.
test('a scale that was fitted to the sample of the check does not prove probabilities', () => {
  const fitted = { ...certificate, pd_checked: true, pd_fitted: true }
  expect(gapText(fitted)).toBe(
    'The scale was fitted to this sample: only another sample can prove the probabilities of default.',
  )
  const partly = gapText({ ...fitted, pd_checked: false, pd_rows: 3 })
  expect(partly).toMatch(/were not checked: .* only another sample can prove/)
  const shown = (one: Certificate) =>
    new Map(certificateRows(one)).get('Scale fitted to this sample')
  expect(shown(fitted)).toBe('yes')
  expect(shown({ ...fitted, pd_fitted: false })).toBe('no')
})

test('the table holds every figure of the certificate, unrounded', () => {
  const rows = new Map(certificateRows(certificate))
  expect(rows.get('Largest difference of scores')).toBe('1.1e-13 points')
  expect([...rows.values()]).toEqual(
    expect.arrayContaining(['toad', '1,000', '998', 'c', 's', 'p']),
  )
  const partly = new Map(
    certificateRows({
      ...certificate,
      tool: null,
      card_sha256: null,
      pd_rows: 7,
      differing: 3,
      differing_by: { score: 1, points: 2, pd: 3 },
    }),
  )
  expect(partly.has('Tool')).toBe(false)
  expect(partly.get('Different')).toBe('3 (score 1, points 2, PD 3)')
  expect(partly.get('Rows whose PD was compared')).toBe('7')
})

test('no other object of the audit log is taken for a certificate', () => {
  expect(isCertificate(certificate)).toBe(true)
  expect(isCertificate({ model_id: 'mod_1', traffic_pct: 5 })).toBe(false)
})
