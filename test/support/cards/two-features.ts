import { card, categorical, numeric } from './cards.ts'

/** A card whose features take numbers, texts and missing values. */
export const TWO_FEATURES = card([
  numeric('income', [
    ['(-Infinity, 1000]', 10],
    ['(1000, Infinity)', 20],
    ['Missing', 0],
  ]),
  categorical('job', [
    ['größer', 7],
    ['other', -3],
  ]),
])

/** A body for it that is scored without a warning. */
export const TWO_FEATURES_BODY = { income: 1200, job: 'größer', strict_mode: false }
