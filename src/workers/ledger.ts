import type { Charge, LedgerTask } from '../accounts/accounts.js'
import { openSqliteAccounts } from '../store/sqlite/accounts.js'
import type { Handler } from '../threads.js'

/** Writes charges down: a commit waits for the disk, and whoever is answered meanwhile is not to wait with it. */
export function begin({ path }: { path: string }): Handler {
  const accounts = openSqliteAccounts(path)
  return {
    async answer(task: LedgerTask) {
      if (task === 'check') return { result: await accounts.check() }
      if (task === 'close') return { result: await accounts.close() }
      if (typeof task === 'number') return { result: await accounts.rollUp(task) }
      return { result: await accounts.charge(task.map(whole)) }
    },
  }
}

/** Bytes come through to another thread as bare arrays. */
function whole({ idempotency, question, answer, ...charge }: Charge): Charge {
  return {
    ...charge,
    idempotency: idempotency === null ? null : bytes(idempotency),
    question: bytes(question),
    answer: bytes(answer),
  }
}

function bytes({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
