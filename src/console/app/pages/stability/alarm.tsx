import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { api, read, readData } from '../../api/client.ts'
import { DEPLOYMENT_CHANGES } from '../../api/deployments.ts'
import { ApiError } from '../../api/errors.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { Form } from '../../ui/dialog.tsx'
import { When } from '../../ui/facts.tsx'
import { Act, typed } from '../../ui/fields.tsx'
import { index, percent, readNumber, sampleSize, whole } from '../../ui/figures.ts'
import { Light, VerdictLight } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { Notice } from '../../ui/states.tsx'
import { isChangeRequest, StoredRequest } from '../deployment/change-dialog.tsx'
import { useAbout } from '../deployment/frame.tsx'

type Alarm = Schemas['Alarm']

const PATH = '/v1/deployments/{slug}/stability/alarm'

/** Shows what the hourly evaluation found, and its levels, which deployers may set. */
export function AlarmPanel({ alarm }: { alarm: Alarm }) {
  const { featureName } = useAbout()
  const { mayDeploy } = useUser()
  const { n, days, evaluated_at: at, changed_at: since } = alarm
  return (
    <Panel title="Alarm">
      {!alarm.is_on && <Light kind="unknown">Off</Light>}
      {alarm.is_on && <VerdictLight verdict={alarm.verdict} />}
      {alarm.is_on && at !== null && (
        <p>
          {foundBy(alarm, featureName)} Over {days} days to <When at={at} />, {sampleSize(n)}; this
          verdict since <When at={since} />.
        </p>
      )}
      {mayDeploy ? (
        <details>
          <summary>Levels</summary>
          <Levels alarm={alarm} />
        </details>
      ) : (
        <p className="muted small">
          Moderate from {index(alarm.watch)}, major from {index(alarm.act)}, with at least{' '}
          {whole(alarm.n_min)} applicants.
        </p>
      )}
    </Panel>
  )
}

function foundBy(alarm: Alarm, featureName: FeatureName): string {
  const { moved, input_faults: faults } = alarm
  const [judged, unjudged] = [alarm.features_judged ?? 0, alarm.features_unjudged ?? 0]
  const names = moved.map(({ name, csi_psi }) => `${featureName(name)} (${index(csi_psi)})`)
  const sentences = [
    names.length > 0
      ? `Moved: ${names.join(', ')}.`
      : judged > 0
        ? `No feature moved more than chance explains, of the ${judged} that can be judged.`
        : 'No feature can be judged.',
    ...(unjudged > 0 ? [`Features with too few applicants: ${unjudged}.`] : []),
    ...faults.map(
      ({ name, unknown_share: share }) =>
        `${percent(share)} of the values of ${featureName(name)} are of a kind that the sample does not count: check the input.`,
    ),
  ]
  return sentences.join(' ')
}

const FIELDS = [
  { name: 'watch', label: 'Moderate from', hint: 'A PSI' },
  { name: 'act', label: 'Major from', hint: 'A larger PSI' },
  { name: 'n_min', label: 'Least applicants', hint: 'Below, no verdict' },
  { name: 'days', label: 'Days', hint: 'The period ends now' },
] as const

function Levels({ alarm }: { alarm: Alarm }) {
  const { slug } = useAbout().deployment
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(FIELDS.map(({ name }) => [name, String(alarm[name])])),
  )
  // The alarm that the form began with; the page behind it keeps reloading.
  const [known, setKnown] = useState(alarm)
  const [said, setSaid] = useState<'saved' | 'waits' | null>(null)
  const save = async (isOn: boolean) => {
    setSaid(null)
    const params = { path: { slug } }
    const now = await read(PATH, params)
    if (describeLevels(now) !== describeLevels(known)) {
      setKnown(now)
      const text = `Somebody else has set the alarm in the meantime: ${describeLevels(now)}`
      throw new ApiError('changed', `${text}. Save again to set what stands here.`)
    }
    const levels = Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, readNumber(text) ?? 0]),
    )
    const answer = await readData(api.PUT(PATH, { params, body: { ...levels, is_on: isOn } }))
    if (!isChangeRequest(answer)) setKnown(answer)
    setSaid(isChangeRequest(answer) ? 'waits' : 'saved')
  }
  return (
    <Form
      send={() => save(true)}
      submit={alarm.is_on ? 'Save the levels' : 'Switch the alarm on'}
      busy="Saving …"
      missing={findFault(texts)}
      changes={DEPLOYMENT_CHANGES}
    >
      <div className="form-row">
        {FIELDS.map(({ name, label, hint }) => (
          <TextInput
            key={name}
            label={label}
            description={hint}
            inputMode="decimal"
            {...typed(texts[name] ?? '', (text) => setTexts({ ...texts, [name]: text }))}
          />
        ))}
        {alarm.is_on && (
          <Act act={() => save(false)} changes={DEPLOYMENT_CHANGES}>
            Switch it off
          </Act>
        )}
      </div>
      {said === 'saved' && <Notice kind="good">Saved. The next evaluation uses the levels.</Notice>}
      {said === 'waits' && <StoredRequest />}
    </Form>
  )
}

function describeLevels({ is_on: isOn, watch, act, n_min: least, days }: Alarm): string {
  const levels = `moderate from ${index(watch)}, major from ${index(act)}`
  return `${isOn ? 'on' : 'off'}, ${levels}, over ${days} days, from ${whole(least)} applicants`
}

/** Returns what is wrong with the levels, in the words of the form; null if nothing is. */
function findFault(texts: Readonly<Record<string, string>>): string | null {
  const wrong = FIELDS.find(({ name }) => readNumber(texts[name] ?? '') === null)
  if (wrong !== undefined) return `${wrong.label} is not a number.`
  const [watch, act] = [readNumber(texts['watch'] ?? ''), readNumber(texts['act'] ?? '')]
  return (watch ?? 0) > (act ?? 0) ? '“Major from” is below “Moderate from”.' : null
}
