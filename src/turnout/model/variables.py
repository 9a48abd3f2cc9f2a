"""Decides which names may be environment variables that a run's input or an output sets."""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_DANGEROUS = frozenset(
    {
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "BASHOPTS",
        "SHELLOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "CDPATH",
        "GLOBIGNORE",
        "FPATH",
        "ZDOTDIR",
        "SHELL",
        "HOME",
        "NODE_OPTIONS",
        "NODE_PATH",
        "RUBYOPT",
        "RUBYLIB",
        "CLASSPATH",
        "GCONV_PATH",
        "HOSTALIASES",
        "LOCPATH",
        "MALLOC_TRACE",
        "NLSPATH",
        "RESOLV_HOST_CONF",
        "RES_OPTIONS",
        "TMPDIR",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "OPENSSL_CONF",
        "CURL_HOME",
        "WGETRC",
        "JAVA_HOME",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "GIT_ASKPASS",
        "GIT_DIR",
        "GIT_EDITOR",
        "GIT_EXEC_PATH",
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_PROXY_COMMAND",
        "GIT_TEMPLATE_DIR",
    }
)
_DANGEROUS_PREFIXES = ("LD_", "DYLD_", "PYTHON", "PERL", "BASH_FUNC_", "GIT_SSH", "GIT_CONFIG", "NPM_CONFIG_")
_OWN_PREFIXES = ("TURNOUT_", "DAG_", "DAGU_")


def is_variable_name(name: str) -> bool:
    """True if every shell can refer to a variable of this name."""
    return NAME.fullmatch(name) is not None


def changes_programs(name: str) -> bool:
    """True if a variable of this name changes how programs start: which are found, or what they load and run first.

    >>> changes_programs("LD_PRELOAD"), changes_programs("DAY")
    (True, False)
    """
    upper = name.upper()
    return upper in _DANGEROUS or upper.startswith(_DANGEROUS_PREFIXES)


def is_own(name: str) -> bool:
    """True if Turnout sets variables of such names itself."""
    return name.upper().startswith(_OWN_PREFIXES)
