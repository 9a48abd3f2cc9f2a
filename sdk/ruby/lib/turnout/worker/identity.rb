# frozen_string_literal: true

require "socket"

module Turnout
  class Worker
    # Identifies this process. With the fields of Linux an orchestrator on the same machine detects its death at once.
    module Identity
      module_function

      def fields
        {
          "host" => Socket.gethostname, "pid" => Process.pid,
          "boot_id" => known { File.read("/proc/sys/kernel/random/boot_id").strip },
          "pid_namespace" => known { File.readlink("/proc/self/ns/pid") },
          "process_started" => known { started(File.binread("/proc/self/stat")) }
        }.compact
      end

      # Field 22; the second is a name in brackets that may hold anything.
      def started(stat) = stat.rpartition(")").last.split[19].encode(Encoding::UTF_8)

      def known
        yield
      rescue SystemCallError
        nil
      end
    end
  end
end
