import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { read } from '../../api/client.ts'
import { saveText } from '../../api/send.ts'
import type { Schemas } from '../../api/types.ts'
import { whole } from '../../ui/figures.ts'
import { Light, type LightKind } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { Failure } from '../../ui/states.tsx'
import { checkProof, isRecomputed } from './proof.ts'

interface ProofPanelProps {
  readonly score: Schemas['LoggedScore']
  readonly result: Schemas['LoggedResult']
  readonly record: number
}

/** Proves that the record was not altered, and gives a file that the offline verifier checks. */
export function ProofPanel({ score, result, record }: ProofPanelProps) {
  const proving = useMutation({ mutationFn: () => prove(score, record) })
  return (
    <Panel
      title="Proof"
      actions={
        <Button size="compact-sm" loading={proving.isPending} onClick={() => proving.mutate()}>
          Prove that it is unaltered
        </Button>
      }
    >
      {proving.error && <Failure error={proving.error} />}
      {proving.data === undefined ? (
        <p className="muted">
          The log is a signed tree: its proof shows that this record is as it was written. This
          browser checks it, and so can anybody with the file.
        </p>
      ) : (
        <Proved {...proving.data} result={result} requestId={score.request_id} />
      )}
    </Panel>
  )
}

async function prove(score: Schemas['LoggedScore'], record: number) {
  const path = { request_id: score.request_id }
  const query = score.is_batch ? { record } : {}
  const [proof, { key }] = await Promise.all([
    read('/v1/scores/{request_id}/proof', { path, query }),
    read('/v1/log/key', {}),
  ])
  return { proof, verifierKey: key, checked: await checkProof(proof, key) }
}

function Proved(
  props: Awaited<ReturnType<typeof prove>> & { result: Schemas['LoggedResult']; requestId: string },
) {
  const { proof, verifierKey, checked, result, requestId } = props
  const { isIncluded, isSigned, leaf, origin } = checked
  const isSum = isRecomputed(result)
  const isUnaltered = isIncluded && isSum && isSigned !== false
  const lights: readonly (readonly [LightKind, string])[] = [
    [
      isSum ? 'good' : 'act',
      isSum
        ? 'Recomputed to the bit: base points and the points of all features give the score.'
        : 'The points do not give the score.',
    ],
    [
      isIncluded ? 'good' : 'act',
      isIncluded
        ? `Entry ${whole(proof.block.index + 1)} of ${whole(proof.block.size)} in block ${whole(proof.block.sequence + 1)} of the log ${origin}.`
        : 'The record is not in the log of the checkpoint.',
    ],
    [
      isSigned === null ? 'unknown' : isSigned ? 'good' : 'act',
      isSigned === null
        ? 'This browser knows no Ed25519: check the signature with the file.'
        : isSigned
          ? `The checkpoint over ${whole(proof.tree.size)} blocks is signed with the key of this service.`
          : 'The checkpoint is not signed with the key of this service.',
    ],
  ]
  const save = () => saveText(`proof-${requestId}.json`, JSON.stringify(proof))
  return (
    <>
      <p className="conclusion">
        <Light kind={isUnaltered ? 'good' : 'act'}>
          {isUnaltered ? 'Unaltered' : 'Not proved: tell the operator'}
        </Light>
      </p>
      <ul className="gapped">
        {lights.map(([kind, text]) => (
          <li key={text}>
            <Light kind={kind} isShort>
              {kind === 'good' ? 'Right' : 'Wrong'}
            </Light>{' '}
            {text}
          </li>
        ))}
      </ul>
      <p>
        <Button variant="default" size="compact-sm" onClick={save}>
          Download the evidence
        </Button>
      </p>
      <details>
        <summary>How anybody checks it without this service</summary>
        <p>
          With <code>verify-proof.mjs</code> of the documentation, the file, and the key that you
          kept from before:
        </p>
        <p>
          <code>
            node verify-proof.mjs proof-{requestId}.json {verifierKey}
          </code>
        </p>
        <p>What the log holds of the applicant:</p>
        <pre className="letter">{JSON.stringify(leaf, null, 2)}</pre>
      </details>
    </>
  )
}
